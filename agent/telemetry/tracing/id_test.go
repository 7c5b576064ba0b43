package tracing

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The IDs are part of the interface: links and bookmarks hold them, and T-SQL computes the same.
func TestIDs(t *testing.T) {
	t.Parallel()
	run, target := uuid.MustParse("0b4f3f0a-91cf-4f5e-8b2a-50a5b2a7c001"), uuid.MustParse("5f0c1f5e-3a55-4c6e-9a3b-8a1f0d2b7c11")
	require.Equal(t, "0b4f3f0a91cf4f5e8b2a50a5b2a7c001", TraceID(run).String())
	ids := map[string]bool{}
	for _, id := range []string{
		RunSpan(run).String(), StepSpan(run, 1).String(), StepSpan(run, 2).String(), ResolutionSpan(run, 1, 1).String(),
		TargetSpan(run, target).String(), TargetSpan(target, run).String(), AttemptSpan(run, target, 1).String(), AttemptSpan(run, target, 2).String(),
	} {
		require.Len(t, id, 16)
		ids[id] = true
	}
	require.Len(t, ids, 8)
	// SELECT SUBSTRING(HASHBYTES('SHA2_256', 'run:0B4F3F0A-91CF-4F5E-8B2A-50A5B2A7C001'), 1, 8)
	require.Equal(t, "5a62d8191173140a", RunSpan(run).String())
}

func TestTraceParent(t *testing.T) {
	t.Parallel()
	run, target := uuid.New(), uuid.New()
	var off *Recorder
	parent, ok := parseTraceParent(off.TraceParent(run, target, 1))
	require.True(t, ok)
	require.Equal(t, TraceID(run), parent.TraceID())
	require.Regexp(t, "-01$", off.TraceParent(run, target, 1))
	require.Regexp(t, "-00$", (&Recorder{ratio: 0}).TraceParent(run, target, 1))
	for _, text := range []string{
		"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01", "00-<script>alert(1)</script>aaaaaaaaaaa-00f067aa0ba902b7-01",
	} {
		_, ok := parseTraceParent(text)
		require.False(t, ok, text)
	}
}

// A ratio chooses about as many runs, and the same ones everywhere.
func TestSampled(t *testing.T) {
	t.Parallel()
	a, b, n := &Recorder{ratio: 0.25}, &Recorder{ratio: 0.25}, 0
	for range 4000 {
		run := uuid.New()
		require.Equal(t, a.sampled(run), b.sampled(run))
		if a.sampled(run) {
			n++
		}
	}
	require.InDelta(t, 1000, n, 150) // five standard deviations
	require.True(t, (&Recorder{ratio: 1}).sampled(uuid.New()))
	require.False(t, (&Recorder{}).sampled(uuid.New()))
}
