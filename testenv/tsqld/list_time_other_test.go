//go:build !linux

package tsqld

import "time"

// began is the time from which threadTime counts.
var began = time.Now()

// thread returns the calling thread; the result is for threadTime.
func thread() int { return 0 }

// threadTime returns the time: other systems than Linux do not tell it by thread.
func threadTime(int) time.Duration { return time.Since(began) }

// processTime returns the time: other systems have no clock of a process here.
func processTime() time.Duration { return time.Since(began) }
