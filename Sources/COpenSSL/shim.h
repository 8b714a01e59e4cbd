#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

/* The macro is an expression that Swift does not import. */
enum { copenssl_keypair = EVP_PKEY_KEYPAIR };

/* Names that must outlive the call to which they are given: coders keep the address. */
static inline const char *copenssl_pem(void) { return "PEM"; }
static inline const char *copenssl_pkcs8(void) { return "PrivateKeyInfo"; }
