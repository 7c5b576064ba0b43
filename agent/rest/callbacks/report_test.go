package callbacks

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestParseReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body    string
		success bool
		message string
		fault   string
	}{
		{body: `{"success": true, "message": "done"}`, success: true, message: "done"},
		{body: `{"success": "true"}`, success: true},
		{body: `{"success": 1, "message": null}`, success: true},
		{body: `{"success": false, "message": ""}`},
		{body: `{"success": "false", "other": [1]}`},
		{body: `{"success": 0, "message": "no"}`, message: "no"},
		{body: `{"success": true, "message": {"n": 1}}`, success: true, message: `{"n":1}`},
		{body: `{"success": true, "message": [1, "a b"]}`, success: true, message: `[1,"a b"]`},
		{body: `{"success": true, "message": 7}`, success: true, message: "7"},
		{body: `{"message": "m"}`, fault: "success is missing"},
		{body: `{"success": null}`, fault: "invalid success"},
		{body: `{"success": "yes"}`, fault: "invalid success"},
		{body: `{"success": 2}`, fault: "invalid success"},
		{body: ``, fault: "invalid body"},
		{body: `[]`, fault: "invalid body"},
		{body: `{"success": true} x`, fault: "invalid body"},
		{body: `success=true`, fault: "invalid body"},
	} {
		success, message, err := parseReport([]byte(c.body))
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, c.body)
			continue
		}
		require.NoError(t, err, c.body)
		require.Equal(t, c.success, success, c.body)
		require.Equal(t, c.message, message, c.body)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"success":true,"message":"%s"}`, `{"success":true,"message":{"a":"%s"}}`} {
		_, message, err := parseReport([]byte(fmt.Sprintf(body, strings.Repeat("ä", maxMessage+1))))
		require.NoError(t, err)
		require.Equal(t, maxMessage, utf8.RuneCountInString(message))
		require.True(t, strings.HasSuffix(message, "ä…"))
	}
}

// A report at the limit takes a bounded time and memory.
func TestHostileReports(t *testing.T) { //nolint:paralleltest // it measures
	parse := func(text string) error { _, _, err := parseReport([]byte(text)); return err }
	message := func(text string) error { return parse(`{"success":true,"message":` + text + `}`) }
	bounds.Check(t, bounds.JSON(maxBody, parse))
	bounds.Check(t, bounds.JSON(maxBody-30, message))
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(`{"success": true, "message": {"n": [1, null, "\u0000\ud800"]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var message string
		var err error
		bounds.Allocations(t, len(body), 64<<10, 400, func() { _, message, err = parseReport(body) })
		if err != nil {
			require.Empty(t, message)
			return
		}
		require.LessOrEqual(t, utf8.RuneCountInString(message), maxMessage)
	})
}
