#ifndef CPOSTGRESQL_H
#define CPOSTGRESQL_H

#include <postgresql/libpq-fe.h>

/* libpq, which is loaded when it is first asked for, never linked: it brings 21 libraries, and a
 * program without a database server must not wait for them. */

#define CPOSTGRESQL_EACH_FUNCTION(each) \
    each(PQlibVersion) \
    each(PQconnectStartParams) \
    each(PQconnectPoll) \
    each(PQfinish) \
    each(PQstatus) \
    each(PQsocket) \
    each(PQbackendPID) \
    each(PQerrorMessage) \
    each(PQtransactionStatus) \
    each(PQsetnonblocking) \
    each(PQsetErrorVerbosity) \
    each(PQsetNoticeProcessor) \
    each(PQsendQuery) \
    each(PQsendPrepare) \
    each(PQsendQueryPrepared) \
    each(PQsendDescribePrepared) \
    each(PQenterPipelineMode) \
    each(PQexitPipelineMode) \
    each(PQpipelineSync) \
    each(PQflush) \
    each(PQconsumeInput) \
    each(PQisBusy) \
    each(PQgetResult) \
    each(PQclear) \
    each(PQresultStatus) \
    each(PQresultErrorField) \
    each(PQntuples) \
    each(PQfname) \
    each(PQftype) \
    each(PQnparams) \
    each(PQparamtype) \
    each(PQgetisnull) \
    each(PQgetlength) \
    each(PQgetvalue) \
    each(PQcmdTuples) \
    each(PQnotifies) \
    each(PQfreemem)

struct cpostgresql {
#define CPOSTGRESQL_POINTER(name) __typeof__(&name) name;
    CPOSTGRESQL_EACH_FUNCTION(CPOSTGRESQL_POINTER)
};

/* Returns libpq's functions; NULL if it cannot be loaded, with the reason in `fault`.
 *
 * Removes the variables PG* from this process's environment: libpq would take a password, a service
 * or a host from them. */
const struct cpostgresql *cpostgresql_load(const char **fault);

/* Returns the user of the process that listens at the other end of a Unix socket; -1 if the system
 * does not know. */
long cpostgresql_peer(int socket);

#endif
