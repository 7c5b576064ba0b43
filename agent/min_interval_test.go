package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/testenv"
)

// The setting schedule_min_interval_seconds applies to schedules that are validated after its
// change.
func TestTooFrequentScheduleIsFaulted(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "j", []string{"SELECT 1;"})
		add := func(name, spec string) {
			_, err := timetable.On(f.Store).Add(t.Context(), timetable.Spec{
				JobName: "j", Name: name, Kind: new("cron5"), Spec: new(spec),
			})
			require.NoError(t, err)
			<-time.After(2 * time.Second)
		}
		add("before", "*/4 * * * *")
		f.exec(t, f.Control, "INSERT INTO jobs_internal.settings (name, value) VALUES (N'schedule_min_interval_seconds', N'300');")
		add("slow", "*/5 * * * *")
		add("fast", "*/4 * * * *")
		list, err := timetable.On(f.Store).List(t.Context(), timetable.Filter{JobName: "j", NamedOnly: true})
		require.NoError(t, err)
		states := map[string]string{}
		for _, s := range list {
			states[s.Name] = s.State
			if s.Name == "fast" {
				require.Contains(t, string(s.ValidationErrors), "5m0s")
			}
		}
		require.Equal(t, map[string]string{"before": "Enabled", "slow": "Enabled", "fast": "Faulted"}, states)
	})
}
