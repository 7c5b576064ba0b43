package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Delay returns the jitter of one run (D-P4): the time from its due instant to its start. The delay
// depends only on the schedule's id and the instant. It is at most limit, and shorter than the
// distance to the next due instant. A zero next means there is none. The due instant itself does
// not change.
func Delay(id string, due, next time.Time, limit time.Duration) time.Duration {
	if !next.IsZero() {
		limit = min(limit, next.Sub(due)-time.Millisecond)
	}
	if limit < time.Millisecond {
		return 0
	}
	hash := sha256.New()
	var instant [8]byte
	binary.BigEndian.PutUint64(instant[:], uint64(due.Unix()))
	hash.Write(instant[:])
	hash.Write([]byte(id))
	n := binary.BigEndian.Uint64(hash.Sum(nil))
	// Whole milliseconds from 0 to limit, both included.
	return time.Duration(n%(uint64(limit/time.Millisecond)+1)) * time.Millisecond
}
