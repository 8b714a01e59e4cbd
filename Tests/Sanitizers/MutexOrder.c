// What Swift's Mutex does when two threads want it at once, told to ThreadSanitizer.
//
// The lock of a free Mutex is inlined, where the sanitizer sees it. The other one is in a library that
// is not built with the sanitizer: the kernel hands the futex over (futex(2), FUTEX_LOCK_PI), and no
// order would show between him who lets go and him who was waiting. Loaded before that library, this
// tells both sides of it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// As Swift calls: what a method is about comes in a place of its own.
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*Lock)(uint32_t thread, SELF handle);
typedef SWIFT void (*Unlock)(SELF handle);

// Weak: a process that is not built with the sanitizer is left as it is.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

SWIFT void lockSlowly(uint32_t thread, SELF handle) __asm__(LOCK);
SWIFT void unlockSlowly(SELF handle) __asm__(UNLOCK);

SWIFT void lockSlowly(uint32_t thread, SELF handle) {
    ((Lock)dlsym(RTLD_NEXT, LOCK))(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void unlockSlowly(SELF handle) {
    if (__tsan_release) __tsan_release(handle);
    ((Unlock)dlsym(RTLD_NEXT, UNLOCK))(handle);
}
