package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultsOfMetrics(t *testing.T) {
	t.Parallel()
	require.NoError(t, Metrics{}.Check())
	require.NoError(t, Metrics{Off: true}.Check())
	require.NoError(t, Metrics{Listen: "127.0.0.1:9464", Token: "file:/x"}.Check())
	require.NoError(t, Metrics{Listen: "0.0.0.0:9464", InsecureHTTP: true}.Check())
	secured := Metrics{Listen: "0.0.0.0:9464"}
	secured.TLS.Certificate, secured.TLS.Key = "c.pem", "k.pem"
	require.NoError(t, secured.Check())
	for want, m := range map[string]Metrics{
		"metrics: invalid listen":     {Listen: "0.0.0.0:9464"},
		"need listen":                 {InsecureHTTP: true},
		"invalid token":               {Listen: "127.0.0.1:9464", Token: "sesame"},
		"contradict":                  {Off: true, Anonymous: true},
		"off and other settings":      {Off: true, Listen: "127.0.0.1:9464"},
		"insecure_http and token nee": {Token: "env:X"},
	} {
		require.ErrorContains(t, m.Check(), want)
		require.NotContains(t, m.Check().Error(), "sesame")
	}
}

func TestTokenOfMetrics(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(" open sesame\n"), 0o600))
	cfg, err := Metrics{Listen: "127.0.0.1:0", Token: "file:" + file}.Server()
	require.NoError(t, err)
	require.Equal(t, "open sesame", cfg.Token)
	require.NoError(t, os.WriteFile(file, []byte("\n"), 0o600))
	_, err = Metrics{Listen: "127.0.0.1:0", Token: "file:" + file}.Server()
	require.ErrorContains(t, err, "is empty")
	_, err = Metrics{Listen: "127.0.0.1:0", Token: "file:" + file + "x"}.Server()
	require.ErrorContains(t, err, "metrics.token")
	require.Equal(t, []string{file}, File{Metrics: Metrics{Token: "file:" + file}}.SecretFiles(""))
}

func TestNamesInMetrics(t *testing.T) {
	t.Parallel()
	list := []ControlDatabase{{Name: "a", Server: "s1"}, {Name: "b", Server: "s1"}, {Name: "A", Server: "s2"}}
	var names []string
	for _, d := range list {
		names = append(names, MetricsName(list, d))
	}
	require.Equal(t, []string{"s1~a", "b", "s2~A"}, names)
}
