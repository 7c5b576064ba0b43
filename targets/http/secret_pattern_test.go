package http_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// An author does not learn a secret from an endpoint that repeats it: a pattern sees the mask only.
func TestPatternsSeeNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "Q7f-secret-of-the-host"
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"
	outcome := func(body string, success action.Success) targets.Outcome {
		s := pipeSite(t, outbound.Config{}, answer(status(200, body)))
		d := post(s.origin)
		d.Secrets, d.HTTP.Success = []string{secret}, success
		d.HTTP.Success.Ranges = []action.StatusRange{{From: 200, To: 200}}
		result := try(t, s, attemptOf(d))
		s.served.Wait()
		return result.Outcome
	}
	for _, form := range []string{secret, strings.ToUpper(secret), hex.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte(secret)), strings.Repeat(secret, 3000)} {
		for from, to := 0, len(digits); to-from > 1; { // the search for the first character
			half := (from + to) / 2
			class := "token=[" + digits[from:half] + "]"
			require.Equal(t, targets.Failed, outcome("token="+form+";", action.Success{BodyMatches: class}))
			require.Equal(t, targets.Succeeded, outcome("token="+form+";", action.Success{BodyFailsOn: class}))
			if strings.Contains(digits[from:half], form[:1]) { // as if the search had worked
				to = half
			} else {
				from = half
			}
		}
	}
	require.Equal(t, targets.Succeeded, outcome("token="+secret+";", action.Success{BodyMatches: `^token=\*\*\*;$`}))
	// A long answer is cut in the middle of a secret, and the masks before the cut make room for
	// that part.
	for shift := range len(secret) {
		body := strings.Repeat("a", shift) + strings.Repeat(secret, 4000)
		require.Equal(t, targets.Succeeded, outcome(body, action.Success{BodyFailsOn: "Q|secret|host"}), shift)
	}
}
