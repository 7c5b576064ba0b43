package scheduler_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// pfx returns a PFX in DER.
func pfx(t *testing.T, encoder *pkcs12.Encoder, password string) []byte {
	t.Helper()
	text, _ := certificate(t, encoder, password, time.Now().AddDate(1, 0, 0))
	data, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return data
}

// TestHostilePFX: whoever puts a job chooses how often the passwords of its PFX are hashed.
func TestHostilePFX(t *testing.T) {
	most := pfx(t, pkcs12.Modern2023.WithIterations(scheduler.MaxIterations/3), "p")
	require.NoError(t, scheduler.DecodePFX(most, "p"))
	many := pfx(t, pkcs12.Modern2023.WithIterations(scheduler.MaxIterations/3+1), "p")
	require.ErrorContains(t, scheduler.DecodePFX(many, "p"), "iterations")

	// One of the counts of a good file becomes 2^23-1.
	good, count := pfx(t, pkcs12.Modern2023.WithIterations(300_000), "p"), []byte{2, 3, 0x04, 0x93, 0xe0}
	require.Equal(t, 3, bytes.Count(good, count))
	at := 0
	for range 3 {
		at += bytes.Index(good[at:], count)
		changed := bytes.Clone(good)
		copy(changed[at:], []byte{2, 3, 0x7f, 0xff, 0xff})
		require.ErrorContains(t, scheduler.DecodePFX(changed, "p"), "iterations")
		at += len(count)
	}
	for _, encoder := range []*pkcs12.Encoder{pkcs12.Modern2023, pkcs12.Modern2026, pkcs12.LegacyDES, pkcs12.LegacyRC2, pkcs12.Legacy} {
		data := pfx(t, encoder, "p")
		require.NoError(t, scheduler.DecodePFX(data, "p"))
		require.Error(t, scheduler.DecodePFX(data, "q"))
		require.Error(t, scheduler.DecodePFX(data[:len(data)-1], "p"))
	}
	decode := func(text string) error { return scheduler.DecodePFX([]byte(text), "p") }
	bounds.Check(t, bounds.Cases(map[string]string{
		"the most iterations":       string(most),
		"too many iterations":       string(many),
		"constructed in each other": strings.Repeat("\x30\x84\x00\x00\xff\xff", 10_000),
		"octet strings":             strings.Repeat("\x04\x00", 30_000),
		"too long":                  strings.Repeat("\x04\x00", 1<<20),
	}, decode))
}

// FuzzPFX: no file makes the front panic, or takes more memory than its length explains.
func FuzzPFX(f *testing.F) {
	f.Add([]byte("\x30\x00"), "p")
	f.Fuzz(func(t *testing.T, data []byte, password string) {
		bounds.Allocations(t, len(data)+len(password), 1<<20, 400, func() { _ = scheduler.DecodePFX(data, password) })
	})
}
