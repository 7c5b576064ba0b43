package targets_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/secretref"
)

func TestIsSecretReference(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"env:NAME": true, "file:/run/secret": true, "file:///run/secret": true, "file:C:\\secret": true,
		"": false, "env:": false, "file: ": false, "hunter2": false, "ENV:NAME": false, "environment:NAME": false,
		"sqlserver://sa:pw@host": false, "server=host;password=file:x": false,
	} {
		require.Equal(t, want, secretref.IsReference(text), text)
	}
}

func TestSecretFromFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	_, err := secretref.Read("file:" + path)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string]string{"p w\n": "p w", "p\r\n": "p", "p\n\n": "p\n", " p ": " p "} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := secretref.Read("file:" + path)
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", text)
	}
	require.NoError(t, os.WriteFile(path, []byte("\xef\xbb\xbfp\xc3\xab\n"), 0o600)) // of Notepad
	got, err := secretref.Read("file:" + path)
	require.NoError(t, err)
	require.Equal(t, "pë", got)
	require.NoError(t, os.WriteFile(path, []byte("p\xeb"), 0o600))
	_, err = secretref.Read("file:" + path)
	require.EqualError(t, err, "read the secret: "+path+": the text is not valid UTF-8 at byte 1: want UTF-8, or UTF-16 with a byte order mark")
	for _, empty := range []string{"", "\n", "\r\n", "\uFEFF"} {
		require.NoError(t, os.WriteFile(path, []byte(empty), 0o600))
		_, err = secretref.Read("file:" + path)
		require.EqualError(t, err, "the file "+path+" is empty")
	}
}

func TestSecretFromEnvironment(t *testing.T) {
	_, err := secretref.Read("env:JOBAGENT_TEST_SECRET")
	require.EqualError(t, err, "the environment variable JOBAGENT_TEST_SECRET is not set")
	t.Setenv("JOBAGENT_TEST_SECRET", "")
	_, err = secretref.Read("env:JOBAGENT_TEST_SECRET")
	require.EqualError(t, err, "the environment variable JOBAGENT_TEST_SECRET is empty")
	t.Setenv("JOBAGENT_TEST_SECRET", "p w")
	got, err := secretref.Read("env:JOBAGENT_TEST_SECRET")
	require.NoError(t, err)
	require.Equal(t, "p w", got)
}

// A text that is not a reference may be the secret itself.
func TestInvalidReferenceIsNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := secretref.Read("hunter2")
	require.ErrorIs(t, err, secretref.ErrInvalid)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	path, ok := secretref.File("file:a/b")
	require.True(t, ok)
	require.Equal(t, "a/b", path)
	_, ok = secretref.File("env:NAME")
	require.False(t, ok)
}
