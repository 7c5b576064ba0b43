package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// costly holds specifications: first ordinary ones, then ones that are designed to be slow.
var costly = []struct{ kind, spec, zone string }{
	{"elastic", `{"schedule_interval_type": "Months", "schedule_interval_count": 1}`, ""},
	{"azure-scheduler", `{"frequency": "Week", "interval": 2, "schedule": {"hours": [8, 17], "minutes": [0, 30], "weekDays": ["monday", "friday"]}}`, "Europe/Berlin"},
	{"azure-scheduler", `{"frequency": "Month", "schedule": {"minutes": [0, 15], "monthlyOccurrences": [{"day": "friday", "occurrence": -1}]}}`, "America/New_York"},
	{"azure-scheduler", `{"frequency": "Day", "interval": 548, "count": 100000}`, "Europe/Berlin"},
	{"sap", `{"cron": "* * * mon:fri */2 0 0"}`, ""},
	{"sap", `{"cron": "* 2 29 mon 2 30 0"}`, "Europe/Berlin"},
	{"sap", `{"cron": "2015 * * fri 12 0 0"}`, "Europe/Berlin"},
	{"sap", `{"cron": "* * * * * * */10"}`, "Australia/Lord_Howe"},
	{"sap", `{"repeatInterval": "5 minutes"}`, ""},
	{"sap", `{"repeatAt": "2.30"}`, "America/New_York"},
	{"cron5", `*/15 8-18 * * mon-fri`, "Europe/Berlin"},
	{"cron5", `30 2 29 2 *`, "Europe/Berlin"},
	{"cron6", `0 0 8 1 * mon`, "Asia/Tokyo"},
	{"quartz", `0 0 12 LW * ?`, "Europe/Berlin"},
	{"quartz", `0 0 0 ? 2 7#5`, "Europe/Berlin"},
	{"rrule", `FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1`, "Europe/Berlin"},
	{"rrule", `FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU;BYHOUR=2;BYMINUTE=30`, "Europe/Berlin"},
	{"rrule", `FREQ=YEARLY;INTERVAL=399;BYWEEKNO=10;BYSETPOS=-1`, "Europe/Berlin"},
	{"rrule", `FREQ=WEEKLY;INTERVAL=3;BYMONTH=2;BYDAY=SA,SU;BYSETPOS=2`, "Europe/Berlin"},
	{"rrule", `FREQ=SECONDLY;INTERVAL=61;BYHOUR=3;BYMINUTE=0;BYSECOND=0;BYMONTH=2;BYMONTHDAY=29`, "Europe/Berlin"},
	{"rrule", `FREQ=HOURLY;INTERVAL=23;BYHOUR=3;BYMONTH=2;BYMONTHDAY=29`, "Europe/Berlin"},
	{"cron5", `{"cron": "0 * * * *", "blackouts": {"mode": "defer", "calendars": [{"weekly": [{"day": "saturday"}, {"day": "sunday"}]}]}}`, "Europe/Berlin"},
	{"cron5", `{"cron": "0 12 * * sat,sun", "blackouts": {"calendars": [{"rrule": "FREQ=WEEKLY;BYDAY=SA", "startTime": "2026-01-03", "duration": "P1D"}, {"dates": ["2026-12-24/2026-12-26"]}]}}`, "Europe/Berlin"},
}

// measured returns plans and the instants at which Next is called.
func measured(tb testing.TB) ([]*Plan, []time.Time) {
	tb.Helper()
	var plans []*Plan
	for _, c := range costly {
		plan, err := Parse(Kind(c.kind), []byte(c.spec), Options{Start: time.Date(2026, 1, 31, 2, 30, 0, 0, time.UTC), Zone: c.zone})
		if err != nil {
			tb.Fatal(c.spec, err)
		}
		plans = append(plans, plan)
	}
	var afters []time.Time
	for k := range 64 {
		afters = append(afters, time.Date(2026+k/16, time.Month(1+k%12), 1+k*7%28, k%24, k*11%60, 0, 0, time.UTC))
	}
	return plans, append(afters, time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9990, 1, 1, 0, 0, 0, 0, time.UTC))
}

func BenchmarkNext(b *testing.B) {
	plans, afters := measured(b)
	for i, plan := range plans {
		b.Run(fmt.Sprintf("%02d-%s", i, plan.Kind), func(b *testing.B) {
			for k := 0; b.Loop(); k++ {
				plan.Next(afters[k%len(afters)])
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for i, c := range costly {
		b.Run(fmt.Sprintf("%02d-%s", i, c.kind), func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse(Kind(c.kind), []byte(c.spec), Options{Start: time.Date(2026, 1, 31, 2, 30, 0, 0, time.UTC), Zone: c.zone}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNextIsFast checks two limits: a median of at most 50 µs and a maximum of 5 ms. The machine
// may be busy, so the test measures each plan three times at each instant and uses the fastest
// time. It tries up to a hundred times while the result is too slow.
func TestNextIsFast(t *testing.T) {
	plans, afters := measured(t)
	var spent []time.Duration
	for i, plan := range plans {
		for _, after := range afters {
			best := time.Hour
			for try := 0; try < 3 || try < 100 && best > 5*time.Millisecond; try++ {
				begun := time.Now()
				plan.Next(after)
				best = min(best, time.Since(begun))
			}
			if best > 5*time.Millisecond {
				t.Errorf("%s after %s: %s", costly[i].spec, after, best)
			}
			spent = append(spent, best)
		}
	}
	slices.Sort(spent)
	if median := spent[len(spent)/2]; median > 50*time.Microsecond {
		t.Errorf("median %s", median)
	}
	t.Logf("%d questions: median %s, 99%% %s, slowest %s", len(spent), spent[len(spent)/2], spent[len(spent)*99/100], spent[len(spent)-1])
}
