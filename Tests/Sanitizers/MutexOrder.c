// Tells ThreadSanitizer what Swift's Mutex does when two threads want it at once.
//
// The fast path, which locks a free Mutex, is inlined, so the sanitizer sees it. The slow path is
// in a library that is not built with the sanitizer. There the kernel hands the futex over
// (futex(2), FUTEX_LOCK_PI), and the sanitizer would see no order between the thread that unlocks
// and the thread that waited. This library is loaded before that one, and reports both sides.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// Swift's calling convention passes `self` in a register of its own.
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*Lock)(uint32_t thread, SELF handle);
typedef SWIFT void (*Unlock)(SELF handle);

// Weak, so that nothing changes in a process that is not built with the sanitizer.
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
