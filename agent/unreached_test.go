package agent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

func TestUnreachedAction(t *testing.T) {
	t.Parallel()
	result := func(class targets.Class, err error) targets.Result {
		return targets.Result{Err: err, Error: targets.ErrorDetail{Class: class}}
	}
	errNetwork := errors.New("no such host")
	setting := &targets.ConfigError{Subject: "host \"h\"", Err: errNetwork}
	require.True(t, unreachedAction(result(targets.ClassConfig, errNetwork)), "an unknown name, or a certificate")
	require.True(t, unreachedAction(result(targets.ClassTimeout, errNetwork)))
	require.True(t, unreachedAction(result(targets.ClassAuth, errNetwork)), "no token")
	require.False(t, unreachedAction(result(targets.ClassConfig, setting)), "a refused address")
	require.False(t, unreachedAction(result(targets.ClassPermanent, errNetwork)), "a fault of the definition")
}
