package auth

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/kdc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, kdc.IgnoreReplayCache()...) }
