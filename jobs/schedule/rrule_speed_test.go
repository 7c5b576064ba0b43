package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestB7 checks that large counts and long lists (B10) can be parsed and, with -slow.measure, that
// they do not make it slow.
func TestB7(t *testing.T) {
	every := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, string(rune('0'+i/10))+string(rune('0'+i%10)))
		}
		return strings.Join(list, ",")
	}
	many := func(item string) string { return strings.TrimSuffix(strings.Repeat(item+",", 20_000), ",") }
	for _, c := range []struct {
		body  string
		limit time.Duration
	}{
		{"FREQ=DAILY;BYHOUR=" + every(24) + ";BYMINUTE=" + every(60) + ";BYSECOND=" + every(60) + ";COUNT=9007199254740992", time.Millisecond},
		{"FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU;BYSETPOS=1;COUNT=1000", time.Millisecond},
		{"FREQ=YEARLY;BYWEEKNO=53;BYDAY=SU;BYSETPOS=1;COUNT=9007199254740992", time.Millisecond},
		{"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=1;COUNT=9007199254740992", time.Millisecond},
		{"FREQ=HOURLY;INTERVAL=23;BYHOUR=0;BYYEARDAY=366;BYDAY=MO", 5 * time.Millisecond},
		{"FREQ=YEARLY;BYDAY=MO;BYWEEKNO=" + many("53"), 5 * time.Millisecond},
		{"FREQ=MONTHLY;BYDAY=MO;BYSETPOS=" + many("-1"), 5 * time.Millisecond},
		{"FREQ=YEARLY;BYYEARDAY=" + many("-1"), 5 * time.Millisecond},
		{"FREQ=MONTHLY;BYDAY=" + strings.TrimSuffix(strings.Repeat("1TU,", 16_000), ","), 5 * time.Millisecond},
		{"FREQ=SECONDLY;INTERVAL=999983;BYHOUR=3;BYMINUTE=3,4;COUNT=50001", 5 * time.Millisecond},
		{"FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=3;BYSECOND=3;COUNT=9007199254740992", 5 * time.Millisecond},
		{"FREQ=SECONDLY;INTERVAL=7;BYHOUR=3;BYMINUTE=3;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=20", 5 * time.Millisecond},
	} {
		for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe"} {
			within(t, c.limit, func() {
				plan, err := Parse(KindRRule, []byte(c.body), Options{Start: time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC), Zone: zone})
				require.NoError(t, err)
				after := plan.Start.Add(-time.Second)
				for range 20 {
					next, ok := plan.Next(after)
					if after = next; !ok {
						break
					}
				}
			}, "%.80s in %s", c.body, zone)
		}
	}
}

// TestLongTexts parses texts of up to 64 KiB, with 20 instants: long lists, thousands of dates, and
// thousands of faults. With -slow.measure each must take less than 5 ms.
func TestLongTexts(t *testing.T) {
	rep := func(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	first := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	var dates []string
	for i := range 3800 {
		dates = append(dates, first.AddDate(0, 0, i).Format("20060102T150405"))
	}
	all := strings.Join(dates, ",")
	occ := rep(`{"day":"friday","occurrence":-1}`, 1900)
	for _, x := range []struct {
		kind Kind
		spec string
	}{
		{KindRRule, "DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nEXDATE:" + all},
		{KindRRule, "DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nRDATE:" + all},
		{KindRRule, "DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nEXDATE:" + strings.Join(dates, "\nEXDATE:")[:60000]},
		{KindRRule, "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY;COUNT=10000\nEXDATE;TZID=Europe/Berlin:" + all},
		{KindRRule, "FREQ=DAILY;BYHOUR=" + rep("x", 30000)},
		{KindRRule, "FREQ=DAILY;BYDAY=" + rep("x", 30000)},
		{KindRRule, "FREQ=DAILY;BYMONTH=" + rep("JAN", 15000)},
		{KindRRule, strings.Repeat("FREQ=DAILY;", 5900)},
		{KindRRule, strings.Repeat("x=1;", 15900)},
		{KindRRule, strings.Repeat("x;", 30000)},
		{KindRRule, strings.Repeat("X:\n", 20000)},
		{KindRRule, strings.Repeat("a\n b\n", 12000)},
		{KindRRule, "FREQ=DAILY;\n" + strings.Repeat(" \n", 30000)},
		{KindRRule, "DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nRDATE:" + rep("x", 30000)},
		{KindRRule, "DTSTART" + strings.Repeat(";TZID=UTC", 7000) + ":20260101T090000\nRRULE:FREQ=DAILY"},
		{KindRRule, "DTSTART" + strings.Repeat(";x", 30000) + ":20260101T090000\nRRULE:FREQ=DAILY"},
		{KindRRule, "FREQ=HOURLY;BYHOUR=1;BYMINUTE=" + rep("5", 30000)},
		{KindAzureScheduler, `{"frequency":"Month","schedule":{"monthDays":[` + rep("31", 20000) + `]}}`},
		{KindAzureScheduler, `{"frequency":"Month","schedule":{"monthlyOccurrences":[` + occ + `]}}`},
		{KindAzureScheduler, `{"frequency":"Day","schedule":{"minutes":[` + rep("31", 20000) + `]}}`},
		{KindAzureScheduler, `{"frequency":"Week","schedule":{"weekDays":[` + rep(`"monday"`, 5500) + `]}}`},
		{KindAzureScheduler, `{"frequency":"Week","schedule":{"weekDays":[` + rep(`"x"`, 15000) + `]}}`},
		{KindAzureScheduler, `{"frequency":"Day","count":9007199254740992,"schedule":{"hours":[1,2,3],"minutes":[1,2,3]}}`},
		{KindElastic, `{"schedule_interval_type":"Months","schedule_interval_count":2147483647}`},
		{KindElastic, `{` + rep(`"x":1`, 10000) + `}`},
		{KindElastic, `{"schedule_interval_type":"` + strings.Repeat("x", 60000) + `"}`},
	} {
		within(t, 5*time.Millisecond, func() {
			if plan, err := Parse(x.kind, []byte(x.spec), Options{Start: first, Zone: "Europe/Berlin"}); err == nil {
				Preview(plan, first.Add(-time.Second), 20)
			}
		}, "%.80q", x.spec)
	}
}
