package schedule_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// show prints the first n due instants of a specification after 2026-01-01, in UTC and in its zone.
func show(kind schedule.Kind, spec string, n int) {
	plan, err := schedule.Parse(kind, []byte(spec), schedule.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	after := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, due := range schedule.Preview(plan, after, n) {
		fmt.Println(due.Format(time.RFC3339), due.In(plan.Zone).Format("Mon 15:04:05 MST"))
	}
}

// Plan.Next returns the first due instant after a given instant.
func ExampleParse() {
	plan, err := schedule.Parse(schedule.KindCron5, []byte("30 2 * * mon-fri"), schedule.Options{Zone: "Europe/Berlin"})
	if err != nil {
		fmt.Println(err)
		return
	}
	due, ok := plan.Next(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)) // a Friday
	fmt.Println(due.Format(time.RFC3339), ok)
	// Output: 2026-01-05T01:30:00Z true
}

// Every fault of a text is reported, with the nearest valid spelling.
func ExampleParse_faults() {
	_, err := schedule.Parse(schedule.KindCron5, []byte("61 25 * * mno"), schedule.Options{})
	var invalid *schedule.Error
	if errors.As(err, &invalid) {
		for _, f := range invalid.Faults {
			fmt.Printf("%s %s -> %q\n", f.Path, f.Value, f.Nearest)
		}
	}
	// Output:
	// cron.minute "61" -> ""
	// cron.hour "25" -> ""
	// cron.dayOfWeek "mno" -> "mon"
}

// Azure Elastic Jobs: elapsed intervals from an anchor, in UTC.
func ExampleParse_elastic() {
	show(schedule.KindElastic, `{"schedule_interval_type": "Months", "schedule_interval_count": 1, "schedule_start_time": "2026-01-31T22:00:00"}`, 3)
	// Output:
	// 2026-01-31T22:00:00Z Sat 22:00:00 UTC
	// 2026-02-28T22:00:00Z Sat 22:00:00 UTC
	// 2026-03-31T22:00:00Z Tue 22:00:00 UTC
}

// Azure Scheduler: the last Friday of each month.
func ExampleParse_azureScheduler() {
	show(schedule.KindAzureScheduler, `{"frequency": "Month", "startTime": "2026-01-01T00:00:00Z", "schedule": {
		"hours": [18], "minutes": [0], "monthlyOccurrences": [{"day": "friday", "occurrence": -1}]}}`, 3)
	// Output:
	// 2026-01-30T18:00:00Z Fri 18:00:00 UTC
	// 2026-02-27T18:00:00Z Fri 18:00:00 UTC
	// 2026-03-27T18:00:00Z Fri 18:00:00 UTC
}

// SAP Job Scheduling Service: seven fields, year first.
func ExampleParse_sap() {
	show(schedule.KindSAP, `{"cron": "* * -1 * 6 0 0"}`, 3) // the last day of each month
	// Output:
	// 2026-01-31T06:00:00Z Sat 06:00:00 UTC
	// 2026-02-28T06:00:00Z Sat 06:00:00 UTC
	// 2026-03-31T06:00:00Z Tue 06:00:00 UTC
}

// Five fields of crontab(5); a bare line needs no JSON.
func ExampleParse_cron5() {
	show(schedule.KindCron5, "*/20 8 * * mon", 3)
	// Output:
	// 2026-01-05T08:00:00Z Mon 08:00:00 UTC
	// 2026-01-05T08:20:00Z Mon 08:20:00 UTC
	// 2026-01-05T08:40:00Z Mon 08:40:00 UTC
}

// Six fields: the second comes first.
func ExampleParse_cron6() {
	show(schedule.KindCron6, "15,45 0 12 1 * *", 3)
	// Output:
	// 2026-01-01T12:00:15Z Thu 12:00:15 UTC
	// 2026-01-01T12:00:45Z Thu 12:00:45 UTC
	// 2026-02-01T12:00:15Z Sun 12:00:15 UTC
}

// Quartz: the working day nearest to the 15th.
func ExampleParse_quartz() {
	show(schedule.KindQuartz, "0 0 9 15W * ?", 3)
	// Output:
	// 2026-01-15T09:00:00Z Thu 09:00:00 UTC
	// 2026-02-16T09:00:00Z Mon 09:00:00 UTC
	// 2026-03-16T09:00:00Z Mon 09:00:00 UTC
}

// RFC 5545: the last working day of each month.
func ExampleParse_rrule() {
	show(schedule.KindRRule, "DTSTART:20260101T170000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", 3)
	// Output:
	// 2026-01-30T17:00:00Z Fri 17:00:00 UTC
	// 2026-02-27T17:00:00Z Fri 17:00:00 UTC
	// 2026-03-31T17:00:00Z Tue 17:00:00 UTC
}

// In Berlin, 02:30 does not exist on 29 March 2026, and exists twice on 25 October. A fixed clock
// time is shifted out of the gap, and is due once in the overlap, unless the specification says
// otherwise.
func ExampleParse_changeOfClocks() {
	for _, spec := range []string{
		`{"cron": "30 2 * * *", "timeZone": "Europe/Berlin"}`,
		`{"cron": "30 2 * * *", "timeZone": "Europe/Berlin", "gap": "skip", "overlap": "both"}`,
	} {
		plan, err := schedule.Parse(schedule.KindCron5, []byte(spec), schedule.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, after := range []time.Time{
			time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC),
		} {
			for _, due := range schedule.Preview(plan, after, 2) {
				fmt.Println(due.Format(time.RFC3339), due.In(plan.Zone).Format("Mon 15:04:05 MST"))
			}
		}
	}
	// Output:
	// 2026-03-29T01:30:00Z Sun 03:30:00 CEST
	// 2026-03-30T00:30:00Z Mon 02:30:00 CEST
	// 2026-10-25T00:30:00Z Sun 02:30:00 CEST
	// 2026-10-26T01:30:00Z Mon 02:30:00 CET
	// 2026-03-30T00:30:00Z Mon 02:30:00 CEST
	// 2026-03-31T00:30:00Z Tue 02:30:00 CEST
	// 2026-10-25T00:30:00Z Sun 02:30:00 CEST
	// 2026-10-25T01:30:00Z Sun 02:30:00 CET
}

// A catch-up policy decides which missed instants are made up.
func ExampleCatchUp_Recover() {
	plan, err := schedule.Parse(schedule.KindCron5, []byte("*/15 * * * *"), schedule.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := schedule.ParseCatchUp("window:20m")
	if err != nil {
		fmt.Println(err)
		return
	}
	due := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	now := due.Add(50 * time.Minute)
	r := policy.Recover(plan, due, now, now, 50*time.Minute)
	fmt.Println("made up:", len(r.Run), "dropped:", len(r.Dropped), "next:", r.Next.Format(time.Kitchen))
	fmt.Println(r.Reason)
	// Output:
	// made up: 2 dropped: 2 next: 11:00AM
	// missed; older than the catch-up window of 20m0s
}
