package auth

import (
	"testing"

	"go.uber.org/goleak"
)

// The library's cache of used tickets is cleaned by a goroutine that lives as long as the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jcmturner/gokrb5/v8/service.GetReplayCache.func1.1"))
}
