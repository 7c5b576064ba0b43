package connect

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The error about a certificate that is not trusted ends in the command that pins it in a context.
func TestPinInContext(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0a", 32)
	const advice = "or, after you have compared the hash with the server's, "
	cause := errors.New("the certificate of s (SHA-256 " + hash + ") is not valid: have it renewed, " + advice + "pin the certificate with certificate_sha256")
	err := pinInContext(cause, "prod")
	require.ErrorIs(t, err, cause)
	require.True(t, strings.HasSuffix(err.Error(), advice+"run jobagent context update prod --certificate-sha256 "+hash), err)
	other := errors.New("connection refused")
	require.Equal(t, other, pinInContext(other, "prod"))
}
