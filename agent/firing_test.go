package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
)

func TestFiring(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time {
		when, err := time.Parse("2006-01-02 15:04", "2026-01-01 "+clock)
		require.NoError(t, err)
		return when
	}
	hourly := controldb.DueSchedule{ID: 7, Kind: "elastic", IntervalType: "Hours", IntervalCount: 1, Anchor: at("00:00"), DueAt: at("03:00")}
	for name, tc := range map[string]struct {
		change func(*controldb.DueSchedule)
		now    time.Time
		want   controldb.Firing
	}{
		"OnTime": {now: at("03:00"), want: controldb.Firing{Schedule: 7, DueAt: at("03:00"), NextDueAt: at("04:00")}},
		"Missed": {now: at("06:30"), want: controldb.Firing{Schedule: 7, DueAt: at("03:00"), NextDueAt: at("07:00"), Skips: []controldb.Skip{{
			DueAt: at("04:00"), Count: 3, Reason: "missed: no agent was running when it was due; the catch-up run stands for it",
		}}}},
		"Once": {
			change: func(d *controldb.DueSchedule) { d.IntervalType, d.Anchor = "Once", at("03:00") },
			now:    at("05:00"), want: controldb.Firing{Schedule: 7, DueAt: at("03:00")},
		},
		"LastBeforeTheEnd": {
			change: func(d *controldb.DueSchedule) { d.End = at("03:30") },
			now:    at("03:00"), want: controldb.Firing{Schedule: 7, DueAt: at("03:00")},
		},
		"UnknownKind": {
			change: func(d *controldb.DueSchedule) { d.Kind = "moon" },
			now:    at("03:00"), want: controldb.Firing{Schedule: 7, DueAt: at("03:00"), SkipReason: `this agent (an older one?) does not know schedules of kind "moon"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			due := hourly
			if tc.change != nil {
				tc.change(&due)
			}
			require.Equal(t, tc.want, firing(due, tc.now))
		})
	}
}
