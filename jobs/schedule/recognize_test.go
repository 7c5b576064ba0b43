package schedule

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecognize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind                   Kind
		text, allowed, nearest string
	}{
		{KindCron5, "Mon..Fri 09:00", "not a calendar event of systemd.time(7)", `"0 9 * * 1-5"`},
		{KindQuartz, "*:0/15", "--kind systemd", "the kind cron5: */15 * * * *"},
		{KindCron5, "daily", "systemd", `"0 0 * * *"`},
		{KindCron5, "OnCalendar=daily", "systemd", `"0 0 * * *"`},
		{KindCron5, "cron(0 12 * * ? *)", "AWS EventBridge", "the kind quartz: 0 0 12 * * ?"},
		{KindQuartz, "cron(0 12 * * ? *)", "AWS EventBridge", `"0 0 12 * * ?"`},
		{KindCron6, "cron(0 12 * * MON *)", "which has this fault: invalid eventbridge.cron", ""},
		{KindCron5, "rate(5 minutes)", "AWS EventBridge", `the kind elastic: {"schedule_interval_type": "Minutes", "schedule_interval_count": 5}`},
		{KindElastic, "rate(5 minutes)", "AWS EventBridge", `{"schedule_interval_type": "Minutes", "schedule_interval_count": 5}`},
		{KindCron5, "every 12 hours synchronized", "App Engine", `"0 0,12 * * *"`},
		{KindCron5, "timedelta(hours=6)", "Airflow", `the kind elastic: {"schedule_interval_type": "Hours", "schedule_interval_count": 6}`},
		{KindRRule, "R/2026-01-01T00:00:00Z/PT15M", "ISO 8601", `the kind elastic: {"schedule_interval_type": "Minutes", "schedule_interval_count": 15, "schedule_start_time": "2026-01-01T00:00:00Z"}`},
		{KindCron5, "PT15M", "ISO 8601", `the kind elastic: {"schedule_interval_type": "Minutes", "schedule_interval_count": 15}`},
		{KindCron5, "0 9 * * 1-5 root /usr/bin/backup --all", "a line of a crontab with a command; jobagent import crontab FILE", `"0 9 * * 1-5"`},
		{KindCron5, "0 9 * * 1-5 /usr/bin/backup", "a line of a crontab with a command", `"0 9 * * 1-5"`},
		{KindQuartz, "@daily /usr/bin/backup", "a line of a crontab with a command", "the kind cron5: @daily"},
		{KindCron5, "0 9 * * 1-5 # office hours", "a comment behind it", `"0 9 * * 1-5"`},
		{KindCron5, "0 9 * * 1-5 Europe/Berlin", "a zone behind it", `"CRON_TZ=Europe/Berlin 0 9 * * 1-5"`},
		{KindCron5, "CRON_TZ=Europe/Berlin 0 9 * * 1-5 backup.sh", "with a command", `"CRON_TZ=Europe/Berlin 0 9 * * 1-5"`},
		{KindCron5, "MAILTO=ops\n0 9 * * 1-5 a.sh\n0 10 * * 1-5 b.sh\n", "a crontab; use jobagent import crontab FILE", ""},
		{KindCron5, "@reboot /usr/bin/backup", "@reboot", ""},
		{KindCron5, "0 0 12 ? * MON#1", "this is one of the kind quartz", "the kind quartz"},
		{KindQuartz, "0 9 * * 1-5", "this is one of the kind cron5", "the kind cron5"},
		{KindSAP, "0 9 * * 1-5", "this is one of the kind cron5", "the kind cron5"},
		{KindCron5, "FREQ=DAILY;BYHOUR=2", "this is one of the kind rrule", "the kind rrule"},
		{KindCron5, "* * * -1.sun 9 0 0", "this is one of the kind sap", `the kind sap: {"cron": "* * * -1.sun 9 0 0"}`},
		{KindCron5, `{"frequency": "Day"}`, "this is one of the kind azure-scheduler", "the kind azure-scheduler"},
		{KindCron5, "BEGIN:VCALENDAR\nBEGIN:VEVENT\nRRULE:FREQ=DAILY\nEND:VEVENT\nEND:VCALENDAR\n", "jobagent import icalendar FILE", ""},
		{KindCron5, "apiVersion: batch/v1\nkind: CronJob\nspec:\n  schedule: '0 9 * * *'\n", "jobagent import kubernetes FILE", ""},
		{KindCron5, `<?xml version="1.0" encoding="UTF-16"?>` + "\n<Task version=\"1.2\">", "jobagent import task-scheduler FILE", ""},
		{KindCron5, "H 2 * * *", "Jenkins and Quartz.NET", ""},
		{Kind("systemd"), "Mon..Fri 09:00", "systemd is a language that is translated", "the kind cron5: 0 9 * * 1-5"},
		{Kind("EventBridge"), "rate(5 parsecs)", "invalid eventbridge.rate.unit", ""},
	} {
		_, err := Parse(c.kind, []byte(c.text), Options{})
		all := &Error{}
		require.ErrorAs(t, err, &all, c.text)
		require.Len(t, all.Faults, 1, c.text)
		require.Contains(t, all.Faults[0].Allowed, c.allowed, c.text)
		require.Equal(t, c.nearest, all.Faults[0].Nearest, "%s as %s: %v", c.text, c.kind, err)
	}
}

// TestRecognizedTextsAreNotOthers checks that no valid text of a kind has the shape of a form, that
// a text of one kind only is named with this kind, and that a fault of the kind itself is kept.
func TestRecognizedTextsAreNotOthers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(18, 10))
	named := 0
	for range 300 {
		kind, spec := randomSpec(random)
		if _, err := Parse(kind, []byte(spec), Options{Created: assumedCreation}); err != nil {
			continue
		}
		text := spec
		if strings.HasPrefix(spec, `{"cron": "`) && kind != KindSAP && strings.Count(spec, `"`) == 4 {
			text = strings.TrimSuffix(strings.TrimPrefix(spec, `{"cron": "`), `"}`)
		}
		what, form, found, ok := Recognize(text)
		require.Empty(t, form, "%s %s: %s", kind, text, what)
		if ok {
			require.Equal(t, kind, found, "%s: %s", text, what)
			named++
		}
		other := Kinds()[random.IntN(len(Kinds()))]
		_, err := Parse(other, []byte(text), Options{Created: assumedCreation})
		var all *Error
		if errors.As(err, &all) && ok && strings.HasPrefix(all.Faults[0].Nearest, "the kind ") && strings.Contains(all.Faults[0].Allowed, "this is one of the kind") {
			require.True(t, strings.HasPrefix(all.Faults[0].Nearest, "the kind "+string(kind)), "%s: %v", text, err)
		}
	}
	require.Greater(t, named, 50)
	for _, text := range []string{"", "2026-12-01", "nonsense", "0 0 12 * * *", "4pm", "61 0 * * *", "é"} {
		what, _, _, ok := Recognize(text)
		require.False(t, ok, "%q: %s", text, what)
	}
}

// TestRecognizedFormsMeanTheSame checks that the text that a fault proposes has the instants of the
// translation.
func TestRecognizedFormsMeanTheSame(t *testing.T) {
	t.Parallel()
	for form, texts := range ownTexts {
		for text, want := range texts {
			if _, err := Parse(KindCron5, []byte(text), Options{}); err == nil {
				continue // a line of cron
			}
			what, found, _, ok := Recognize(text)
			require.True(t, ok, text)
			require.Equal(t, form, found, "%s: %s", text, what)
			_, err := Parse(KindCron5, []byte(text), Options{})
			all := &Error{}
			require.ErrorAs(t, err, &all)
			kind, spec, _ := strings.Cut(want, " ")
			if kind == string(KindCron5) {
				require.Equal(t, `"`+spec+`"`, all.Faults[0].Nearest, text)
			} else {
				require.Equal(t, "the kind "+kind+": "+spec, all.Faults[0].Nearest, text)
			}
		}
	}
}
