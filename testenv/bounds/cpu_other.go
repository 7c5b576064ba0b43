//go:build !unix

package bounds

import "time"

var started = time.Now()

// processorTime returns the time since the start: there is no portable time of processors.
func processorTime() time.Duration { return time.Since(started) }
