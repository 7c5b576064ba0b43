package sap

import (
	"bufio"
	"cmp"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// nodeModules returns the folder in which .ci/npm installed SAP's client, or skips the test.
func nodeModules(t *testing.T) string {
	t.Helper()
	const pkg = "@sap/jobs-client"
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is absent: install it, and run bash .ci/npm")
	}
	folder := os.Getenv("JOBAGENT_TEST_NPM")
	if folder == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = filepath.Join(cmp.Or(os.Getenv("HOME"), "/root"), ".cache")
		}
		folder = filepath.Join(cache, "jobagent-test-npm")
	}
	modules := filepath.Join(folder, "node_modules")
	for _, path := range []string{filepath.Join(folder, "installed"), filepath.Join(modules, filepath.FromSlash(pkg))} {
		if _, err := os.Stat(path); err != nil { // the script writes the mark when the installation is whole
			t.Skipf("the npm package %s is absent: run bash .ci/npm", pkg)
		}
	}
	return modules
}

// sapClient is a running program with SAP's client.
type sapClient struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	calls int
}

// clientError is an error that the client gave to its caller.
type clientError struct {
	Name, Message, Code string
	StatusCode          int
}

// newSAPClient starts a program with SAP's client. server is the server whose certificate it
// trusts. Each variable is added to its environment.
func newSAPClient(t *testing.T, server *httptest.Server, options map[string]any, environment ...string) *sapClient {
	t.Helper()
	modules := nodeModules(t)
	script, err := filepath.Abs("testdata/client.js")
	require.NoError(t, err)
	folder := t.TempDir()
	authority := filepath.Join(folder, "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(authority, certificate, 0o600))

	cmd := exec.Command("node", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_EXTRA_CA_CERTS="+authority)
	cmd.Env = append(cmd.Env, environment...)
	cmd.Stderr = os.Stderr
	c := &sapClient{t: t}
	c.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = c.in.Close() // ends the program
		_ = cmd.Wait()
	})
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 1<<22)
	_, failure := c.try("new", options)
	require.Nil(t, failure, "the constructor")
	return c
}

// try calls a method of the client.
func (c *sapClient) try(method string, options any) (json.RawMessage, *clientError) {
	c.t.Helper()
	c.calls++
	line, err := json.Marshal(map[string]any{"id": c.calls, "method": method, "options": options})
	require.NoError(c.t, err)
	_, err = c.in.Write(append(line, '\n'))
	require.NoError(c.t, err)
	require.True(c.t, c.lines.Scan(), "the program has ended: %v", c.lines.Err())
	var answer struct {
		ID     int
		Result json.RawMessage
		Error  *clientError
	}
	require.NoError(c.t, json.Unmarshal(c.lines.Bytes(), &answer), c.lines.Text())
	require.Equal(c.t, c.calls, answer.ID)
	return answer.Result, answer.Error
}

// object is a JSON object.
type object = map[string]any

// call calls a method of the client, which succeeds. A job that it makes is deleted when the test
// ends.
func (c *sapClient) call(method string, options any) object {
	c.t.Helper()
	text, failure := c.try(method, options)
	require.Nil(c.t, failure, "%s: %+v", method, failure)
	var result object
	require.NoError(c.t, json.Unmarshal(text, &result), string(text))
	if method == "createJob" || method == "upsertJob" {
		forget(c.t, front.Shared(c.t).Store, result)
	}
	return result
}

// fail calls a method of the client, which fails with a status.
func (c *sapClient) fail(status int, method string, options any) string {
	c.t.Helper()
	text, failure := c.try(method, options)
	require.NotNil(c.t, failure, "%s: %s", method, text)
	require.Equal(c.t, status, failure.StatusCode, failure.Message)
	return failure.Message
}
