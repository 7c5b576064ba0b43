package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/testenv/front"
)

// frontRunner runs the tests of the package, and stops the front that they share.
type frontRunner struct{ *testing.M }

// Run implements goleak.TestingM.
func (m frontRunner) Run() int { return front.Main(m.M, surfaces) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(frontRunner{m}) }

// surfaces returns the surface under test; its guard permits this machine.
func surfaces(t testing.TB, f *front.Front) []*rest.Mount {
	network, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
	require.NoError(t, err)
	return []*rest.Mount{{Surface: scheduler.New(scheduler.Config{Authority: f.H.URL}, f.Directory, network.Check), ARM: true}}
}
