package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultInWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, `cron.minute is "61": allowed is 0 to 59; try 59`,
		Fault{Path: "cron.minute", Value: `"61"`, Allowed: "0 to 59", Nearest: "59"}.String())
	require.Equal(t, `the text is "{": allowed is JSON text`, Fault{Value: `"{"`, Allowed: "JSON text"}.String())
}
