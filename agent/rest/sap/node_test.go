package sap

import (
	"bufio"
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
	"github.com/jobagent/jobagent/testenv/npm"
)

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
	modules := npm.Modules(t, "@sap/jobs-client")
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
