package http_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// FuzzAnswer sends any bytes as the answer: there is always a result within the limits, no secret
// is in it, and the server gets one connection for each redirect at most.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		status(200, "body"), status(302, "", "Location: /x"), status(503, "hunter2", "Retry-After: 5"), "",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
		"HTTP/1.0 200 hunter2\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08", "HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := pipeSite(t, outbound.Config{}, func(c net.Conn) {
			if _, _, err := readRequest(c); err == nil {
				_, _ = c.Write(text)
			}
		})
		d := post(s.origin)
		d.Secrets = []string{"hunter2"}
		d.HTTP.FollowRedirects = 2
		d.HTTP.CaptureHeaders = []string{"X-Any"}
		d.HTTP.Success = action.Success{Preset: action.PresetSAP}
		d.Callback = &action.Callback{StatusAccepted: true}
		result := try(t, s, attemptOf(d))
		s.served.Wait()
		require.Contains(t, []targets.Outcome{targets.Succeeded, targets.Accepted, targets.Failed, targets.Unknown}, result.Outcome)
		require.True(t, result.Sent)
		require.LessOrEqual(t, s.connections(), 3)
		require.NotContains(t, result.Summary+result.Error.Text, "hunter2")
		for _, m := range result.Messages {
			require.LessOrEqual(t, len(m.Text), 90<<10)
			if m.Kind != targets.KindBody || !strings.Contains(string(text), "gzip") {
				require.NotContains(t, m.Text, "hunter2")
			}
		}
	})
}
