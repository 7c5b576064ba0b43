package schedule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHostileTexts checks that texts of 64 KiB have few faults (B9) and, with -slow.measure, that
// they are parsed in 5 ms.
func TestHostileTexts(t *testing.T) {
	list := func(item string) string {
		return strings.TrimSuffix(strings.Repeat(item+",", 60_000/(len(item)+1)), ",")
	}
	var years string
	for n := range 12_000 {
		years += fmt.Sprintf("%04d,", 1+n*7%9999)
	}
	lines := map[Kind]func(string) string{
		KindCron5:  func(s string) string { return s + " 0 * * *" },
		KindCron6:  func(s string) string { return s + " 0 0 * * *" },
		KindQuartz: func(s string) string { return s + " 0 0 * * ?" },
		KindSAP:    func(s string) string { return `{"cron":"* * * * 0 0 ` + s + `"}` },
	}
	days := map[Kind]func(string) string{
		KindCron5:  func(s string) string { return "0 0 * * " + s },
		KindQuartz: func(s string) string { return "0 0 0 ? * " + s },
		KindSAP:    func(s string) string { return `{"cron":"* * * ` + s + ` 0 0 0"}` },
	}
	measure := func(kind Kind, spec string) {
		t.Helper()
		var err error
		within(t, 5*time.Millisecond, func() {
			var plan *Plan
			if plan, err = Parse(kind, []byte(spec), Options{Start: proposalStart}); err == nil {
				plan.Next(proposalStart)
			}
		}, "%s %s…", kind, spec[:30])
		var all *Error
		if errors.As(err, &all) {
			require.LessOrEqual(t, len(all.Faults), 21)
			require.Less(t, len(err.Error()), 20_000)
		}
	}
	for _, item := range []string{"0", "*", "1-5/2", "59", "x", "", "99", "9-1", "*/90", "0,59", "x,y", "99,98", "9-1,8-1", "1:5,2:5", "9:1,8:1", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"} {
		for kind, line := range lines {
			measure(kind, line(list(item)))
		}
	}
	for _, item := range []string{"mon", "MON#2", "MONL", "2.mon", "mno", "L", "W", "#", "mon,tue", "mno,teu", "MON#1,MONL,TUE#1", "x#2,y#2"} {
		for kind, line := range days {
			measure(kind, line(list(item)))
		}
	}
	for kind, texts := range map[Kind][]string{
		KindQuartz: {"0 0 0 " + list("15W") + " * ?", "0 0 0 " + list("L-3") + " * ?", "0 0 0 1 1 ? " + list("2027"), "0 0 0 1 1 ? " + list("2027,*/2,1970/1"), "0 0 0 " + list("30,31") + " 2 ?", strings.Repeat("* ", 30_000)},
		KindCron5:  {strings.Repeat("* ", 30_000), strings.Repeat("x", 60_000), "0 0 30,31," + list("31") + " 2 *", `"` + strings.Repeat("x", 60_000), "{" + strings.Repeat("x", 60_000), "@" + strings.Repeat("x", 60_000), "0 0 * * * " + strings.Repeat("x ", 30_000)},
		KindRRule:  {"RRULE:FREQ=DAILY;BYHOUR=1" + strings.Repeat("\n ,1", 15_000), strings.Repeat("FREQ=DAILY;", 5_500), "DTSTART" + strings.Repeat(";A=1", 15_000) + ":20260101T000000Z\nRRULE:FREQ=DAILY"},
		KindSAP:    {`{"cron":"` + list("2027") + ` * * * 0 0 0"}`, `{"cron":"` + list("2027,*/2") + ` * * * 0 0 0"}`, `{"cron":"` + list("2027,*/2") + ` 2 30 * 0 0 0"}`, `{"cron":"` + years + `2027 2 30 * 0 0 0"}`, `{"cron":"` + years + `2027 2 29 * 0 0 0"}`, `{"cron":"* * ` + list("31,-1") + ` * 0 0 0"}`, `{"cron":"` + strings.Repeat("* ", 30_000) + `"}`, `{"time":"` + strings.Repeat("tomorow ", 7_000) + `"}`, `{"repeatInterval":"` + strings.Repeat("9", 60_000) + `"}`},
	} {
		for _, text := range texts {
			measure(kind, text)
		}
	}
}
