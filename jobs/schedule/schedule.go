package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// Kind is the family of a schedule. It determines the form of the specification.
type Kind string

// The kinds, by name. The kind is never guessed from the number of fields (D-E3).
const (
	// KindElastic is Azure Elastic Jobs' interval schedule; see Elastic.
	KindElastic Kind = "elastic"
	// KindAzureScheduler is the recurrence object of Azure Scheduler.
	KindAzureScheduler Kind = "azure-scheduler"
	// KindSAP is a schedule of SAP Job Scheduling Service: cron of seven fields, repeatInterval,
	// repeatAt or time.
	KindSAP Kind = "sap"
	// KindCron5 is the cron of cronie: minute, hour, day of month, month, day of week.
	KindCron5 Kind = "cron5"
	// KindCron6 is cron5 with a field for the second before the others.
	KindCron6 Kind = "cron6"
	// KindQuartz is the cron of Quartz: second, minute, hour, day of month, month, day of week, and
	// optionally the year.
	KindQuartz Kind = "quartz"
	// KindRRule is the recurrence rule of RFC 5545.
	KindRRule Kind = "rrule"
)

// Kinds returns every kind.
func Kinds() []Kind {
	return []Kind{KindElastic, KindAzureScheduler, KindSAP, KindCron5, KindCron6, KindQuartz, KindRRule}
}

// Preview returns the first n due instants strictly after the given one. It returns fewer if there
// are no more.
func Preview(s Schedule, after time.Time, n int) []time.Time {
	var due []time.Time
	for range n {
		next, ok := s.Next(after)
		if !ok {
			break
		}
		due = append(due, next)
		after = next
	}
	return due
}

// MaxMissed is the largest number of missed instants that one call of Recover handles. A schedule
// of every minute misses as many in a week.
const MaxMissed = 10_000

// engineVersion must be raised when the due instants of an existing specification can change.
const engineVersion = "2"

// engineFrom and engineUntil bound the changes of zones that Engine includes in its digest. Changes
// after the last listed one follow from the zone's last rule, which already applies to the years
// before.
var (
	engineFrom  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	engineUntil = time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Engine returns a text that identifies everything except the specification that affects due
// instants in a zone: the version of this package, and a digest of the rules of all zones on this
// machine. Equal texts mean equal results. The text changes after an update of the zone data, and
// stored due instants are computed again (D-Z1).
var Engine = sync.OnceValue(func() string {
	hash := sha256.New()
	var number [8]byte
	for _, name := range Zones() {
		hash.Write([]byte(name))
		zone, err := LoadZone(name)
		if err != nil {
			continue // an abbreviation, or a zone missing on this machine
		}
		for at := engineFrom; !at.IsZero() && at.Before(engineUntil); {
			_, offset := at.In(zone).Zone()
			binary.BigEndian.PutUint64(number[:], uint64(at.Unix()))
			hash.Write(number[:])
			binary.BigEndian.PutUint64(number[:], uint64(int64(offset)))
			hash.Write(number[:])
			_, at = at.In(zone).ZoneBounds()
		}
	}
	return "jobs/schedule " + engineVersion + ", zones " + hex.EncodeToString(hash.Sum(nil)[:6])
})

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
