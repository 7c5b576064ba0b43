// Package lock holds the locks of the embedded server: the writer lock of each database and application
// locks. Waiting is fair (first come, first served, except that who holds a lock already may strengthen
// it ahead of the queue), bounded by a time-out and a context, and ends with error 1205 for one
// owner of every cycle of waiting owners.
//
// It uses nothing but mutexes, channels and package time, so that waiting is durable blocking in a bubble of testing/synctest.
package lock
