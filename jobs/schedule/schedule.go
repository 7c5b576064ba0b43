package schedule

import (
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
