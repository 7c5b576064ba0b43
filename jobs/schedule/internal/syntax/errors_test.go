package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultInWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, `invalid cron.minute "61": want 0 to 59; try 59`,
		Fault{Path: "cron.minute", Value: `"61"`, Allowed: "0 to 59", Nearest: "59"}.String())
	require.Equal(t, `invalid text "{": want JSON text`, Fault{Value: `"{"`, Allowed: "JSON text"}.String())
	require.Equal(t, `missing rrule.FREQ: want one of DAILY`, Fault{Path: "rrule.FREQ", Value: "null", Allowed: "one of DAILY"}.String())
}
