// Package lock holds the locks of the embedded server: the writer lock of each database, locks of
// rows and keys that parked transactions have changed, and application locks.
//
// Waiting is fair: requests are served in the order of arrival, except that the conversion of a
// lock to a stronger mode overtakes the queue. A wait is bounded by a timeout and a context. If
// waiting clients form a cycle, one of them gets error 1205.
//
// The package uses only mutexes, channels and package time. A wait is therefore durably blocking in
// a bubble of testing/synctest.
package lock
