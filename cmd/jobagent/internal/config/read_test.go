package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// write writes a configuration file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobagent.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Notepad and PowerShell write byte order marks.
func TestReadByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xef\xbb\xbf{\"dsn\": \"env:X\"}\r\n", "\xff\xfe{\x00\"\x00d\x00s\x00n\x00\"\x00:\x00\"\x00e\x00n\x00v\x00:\x00X\x00\"\x00}\x00"} {
		cfg, err := Read(write(t, text))
		require.NoError(t, err)
		require.Equal(t, "env:X", cfg.DSN)
	}
}

func TestReadWhole(t *testing.T) {
	t.Parallel()
	cfg, err := Read(write(t, `{"dsn": null, "agent": {"lease": "1m", "Prefetch": 7, "max_concurrent_targets": "JA100"},
"targets": {"stored_credential_servers": ["*"]}, "tracing": {"sample_ratio": 0.5, "headers": {"a": "env:A", "A": "env:B"}},
"rest": {"tokens": [], "limits": {"reads": {"per_hour": 1e3}}}, "control_databases": [{"implicit_agent": ""}]}`))
	require.NoError(t, err)
	require.Equal(t, 7, cfg.Agent.Prefetch)
	require.InDelta(t, 0.5, *cfg.Tracing.SampleRatio, 0)
	require.Equal(t, "", *cfg.ControlDatabases[0].ImplicitAgent)
	require.Equal(t, map[string]string{"a": "env:A", "A": "env:B"}, cfg.Tracing.Headers)
}

// Numbers may be given as strings, and the number of concurrent targets as the name of a tier.
func TestReadNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Workers{"16": 16, `"16"`: 16, `"JA200"`: 200, `"ja800"`: 800, `""`: 0, "null": 0} {
		cfg, err := Read(write(t, `{"agent": {"max_concurrent_targets": `+text+`}}`))
		require.NoError(t, err, text)
		require.Equal(t, want, cfg.Agent.MaxConcurrentTargets, text)
	}
	cfg, err := Read(write(t, `{"agent": {"prefetch": "7", "outcome_buffer": "80"}, "limits": {"messages": "9", "value_bytes": "1024", "row_bytes": 2048},
"tracing": {"sample_ratio": "0.5"}, "rest": {"limits": {"connections": "5", "reads": {"per_hour": "1e3"}}},
"processes": [{"name": "7", "max_processes": "3"}], "outbound": {"allow_ports": ["80", 443]}}`))
	require.NoError(t, err)
	require.Equal(t, 7, cfg.Agent.Prefetch)
	require.Equal(t, 80, cfg.Agent.OutcomeBuffer)
	require.EqualValues(t, 9, cfg.Limits.Messages)
	require.EqualValues(t, 1024, cfg.Limits.ValueBytes)
	require.InDelta(t, 0.5, *cfg.Tracing.SampleRatio, 0)
	require.Equal(t, 5, cfg.REST.Limits.Connections)
	require.Equal(t, "7", cfg.Processes[0].Name)
	require.Equal(t, 3, cfg.Processes[0].MaxProcesses)
	require.Equal(t, []int{80, 443}, cfg.Outbound.AllowPorts)
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                                 "the file is empty: want a JSON object, at least {}",
		" \r\n\t":                                          "the file is empty",
		"\xef\xbb\xbf":                                     "the file is empty",
		"{\"dsn\": \"zo\xeb\"}":                            "the text is not valid UTF-8 at byte 11",
		`[]`:                                               "line 1, column 1: want an object, found a list",
		`null`:                                             "line 1, column 1: want an object, found null",
		"{\n  \"dsn\": 5\n}":                               "line 2, column 10: dsn: want a text, found a number",
		"{\n\t\"agënt\": 5\n}":                             "line 2, column 2: agënt: unknown setting: want dsn, agent, ",
		`{"agent": {"prefetch": 1.5}}`:                     `line 1, column 24: agent.prefetch: want a whole number, found 1.5`,
		`{"agent": {"prefetch": 1e99}}`:                    `agent.prefetch: want a whole number, found 1e99`,
		`{"agent": {"prefetch": "16x"}}`:                   `line 1, column 24: agent.prefetch: want a whole number, found "16x"`,
		`{"agent": {"prefetch": "1.5"}}`:                   `line 1, column 24: agent.prefetch: want a whole number, found "1.5"`,
		`{"agent": {"prefetch": ""}}`:                      `line 1, column 24: agent.prefetch: want a whole number, found ""`,
		`{"agent": {"prefetch": "null"}}`:                  `line 1, column 24: agent.prefetch: want a whole number, found "null"`,
		`{"agent": {"prefetch": "1\u0036"}}`:               `line 1, column 24: agent.prefetch: want a whole number, found "16"`,
		`{"agent": {"prefetch": true}}`:                    `line 1, column 24: agent.prefetch: want a whole number, found true or false`,
		`{"agent": {"prefetch": -1}}`:                      `line 1, column 24: agent.prefetch: want a whole number that is not negative, found -1`,
		`{"limits": {"messages": "-1"}}`:                   `limits.messages: want a whole number that is not negative, found "-1"`,
		`{"agent": {"max_concurrent_targets": "16x"}}`:     `line 1, column 38: agent.max_concurrent_targets: invalid number of concurrent targets "16x": want a number above 0, or JA100, `,
		`{"agent": {"max_concurrent_targets": -1}}`:        `invalid number of concurrent targets "-1"`,
		`{"agent": {"max_concurrent_targets": 0}}`:         `invalid number of concurrent targets "0"`,
		`{"agent": {"max_concurrent_targets": 1.5}}`:       `invalid number of concurrent targets "1.5"`,
		`{"agent": {"max_concurrent_targets": true}}`:      `invalid number of concurrent targets "true"`,
		`{"agent": {"max_concurrent_targets": [1]}}`:       `invalid number of concurrent targets "[1]"`,
		`{"agent": {"lease": 30}}`:                         `line 1, column 21: agent.lease: want a duration such as "30s" or "5m", found 30`,
		`{"agent": {"lease": "soon"}}`:                     `line 1, column 21: agent.lease: invalid duration "soon": want a duration such as "30s" or "5m"`,
		`{"credentials": [{"name": "a", "servers": "x"}]}`: `line 1, column 43: credentials[0].servers: want a list, found a text`,
		`{"credentials": [{}, {"nme": "a"}]}`:              `line 1, column 23: credentials[1].nme: unknown setting: want name, servers, kind, user, secret, tenant_id`,
		`{"secrets": {"a": "env:X", "a": "env:Y"}}`:        `line 1, column 28: secrets.a: the setting is given twice`,
		`{"dsn": "env:A", "DSN": "env:B"}`:                 `line 1, column 18: DSN: the setting is given twice`,
		`{"dsn": "env:A"} {}`:                              `line 1, column 18: the text is not valid JSON: invalid character '{' after top-level value`,
		"{\"dsn\": \"env:A\"\n":                            `line 1, column 16: the JSON text ends too early`,
		`{"agent": {"lease": "1m"`:                         `the JSON text ends too early`,
		"{\n\"dsn\": 'env:A'\n}":                           `line 2, column 8: the text is not valid JSON: invalid character '\''`,
		`{"dsn": "env:A",}`:                                `line 1, column 17: the text is not valid JSON`,
		"{\"rest\": {\"limits\": {\"max_body\": true}}}":   `rest.limits.max_body: `,
		`{"tracing": {"sample_ratio": "x"}}`:               `tracing.sample_ratio: want a number, found "x"`,
		`{"targets": {"allow_control_database": "yes"}}`:   `targets.allow_control_database: want true or false, found a text`,
	} {
		_, err := Read(write(t, text))
		require.ErrorContains(t, err, want, "%q", text)
		require.NotContains(t, err.Error(), "Go ", "%q", text)
		require.NotContains(t, err.Error(), " json:", "%q", text)
	}
	_, err := Read(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "no such file")
}
