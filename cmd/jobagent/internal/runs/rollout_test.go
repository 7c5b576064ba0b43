package runs

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/rollouts"
)

// preflighting is a roll-out whose second wave is in its preflight.
type preflighting struct{}

func (preflighting) Get(_ context.Context, id uuid.UUID) (rollouts.Rollout, error) {
	return rollouts.Rollout{ID: id, JobName: "j", State: rollouts.Preflight, Wave: 2, Waves: 2, WaveName: "rest", Targets: 43, CreatedAt: time.Unix(0, 0)}, nil
}

func (preflighting) Waves(context.Context, uuid.UUID) ([]rollouts.Wave, error) {
	return []rollouts.Wave{
		{Wave: 1, Name: "canary", State: rollouts.WavePassed, Targets: 3}, {Wave: 2, Name: "rest", State: rollouts.WavePreflight, Targets: 40},
	}, nil
}

func (preflighting) PreflightProgress(_ context.Context, w rollouts.Wave) (ended, all int, err error) {
	if w.State != rollouts.WavePreflight {
		return 0, 0, nil
	}
	return 12, w.Targets, nil
}

// A roll-out without targets has done nothing, so whoever waits for it is told.
func TestVerdictOfEmptyRollout(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	p := &output.Printer{Stderr: &stderr}
	empty := output.NewRollout(rollouts.Rollout{ID: uuid.New(), JobName: "j", State: rollouts.Succeeded})
	err := (&Wait{}).rolloutVerdict(p, empty)
	require.Equal(t, exit.CodeRunFailed, exit.Code(err))
	require.ErrorContains(t, err, "no target ran: the roll-out has no targets")
	require.NoError(t, (&Wait{AllowSkipped: true}).rolloutVerdict(p, empty))
	require.Contains(t, stderr.String(), "warning: no target ran: the roll-out has no targets")
	stderr.Reset()
	require.NoError(t, (&Wait{}).rolloutVerdict(p, output.NewRollout(rollouts.Rollout{State: rollouts.Succeeded, Targets: 1, Succeeded: 1})))
	require.Empty(t, stderr.String())
}

// TestPreflightProgress: while a preflight runs, the roll-out says how many of its checks have
// ended, of that wave only.
func TestPreflightProgress(t *testing.T) {
	t.Parallel()
	d, err := ReadRollout(t.Context(), preflighting{}, uuid.New())
	require.NoError(t, err)
	require.Nil(t, d.Waves[0].PreflightChecks)
	require.Equal(t, []int{12, 40}, []int{*d.Waves[1].PreflightChecked, *d.Waves[1].PreflightChecks})
	var out strings.Builder
	require.NoError(t, PrintRollout(&output.Printer{Stdout: &out}, &out, d))
	require.Contains(t, out.String(), "  preflight of wave rest: 12 of 40 checks ended\n")
	require.NotContains(t, out.String(), "wave canary:")
}
