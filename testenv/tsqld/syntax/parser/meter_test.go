package parser

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
)

// A parse can be canceled after the whole text has been scanned, which some constructs need.
func TestParserAsksForCancellation(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := meter.NewPool(0).Session()
	m.Begin(ctx)
	c, err := tokens.New(strings.Repeat("SELECT 1;\n", 1000), true, m)
	require.NoError(t, err)
	c.Matching(0) // scans the whole text
	cancel(cause)
	(&batch{Cursor: c}).all()
	require.ErrorIs(t, c.Err(), cause)
}
