package parser

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
)

// A parse can be canceled after the whole text has been scanned, which some constructs need.
func TestParserAsksForCancellation(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	opt := DefaultOptions
	opt.Meter = meter.NewPool(0).Session()
	opt.Meter.Begin(ctx)
	p, err := newParser(strings.Repeat("SELECT 1;\n", 1000), opt)
	require.NoError(t, err)
	p.fillAll()
	cancel(cause)
	p.batch()
	require.ErrorIs(t, p.err, cause)
}
