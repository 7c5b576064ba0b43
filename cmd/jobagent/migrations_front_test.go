//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// upgradedFront is the process of a REST front, of the earlier release or of this one.
type upgradedFront struct {
	r              *restores
	address, token string
	config         string // path of the configuration
	process        *crashAgent
	earlier        bool
	turns          int
	// acknowledged counts the starts of runs that a front of the earlier release (true) or of this
	// one has acknowledged.
	acknowledged map[bool]int
}

// newFront starts a front of the earlier release. One of this release refuses the schema.
func (r *restores) newFront() *upgradedFront {
	t := r.t
	stored, token := tokenfile.New()
	stored.Role, stored.Scope = "admin", "/"
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &upgradedFront{r: r, address: l.Addr().String(), token: token, config: filepath.Join(r.dir, "front.json"), acknowledged: map[bool]int{}}
	require.NoError(t, l.Close())
	text, err := json.Marshal(map[string]any{
		"rest": map[string]any{"tokens": []any{stored}},
		"control_databases": []any{map[string]any{
			"name": "control", "dsn": r.server.dsn(r.crash.control), "subscription": accountsSub, "resource_group": "rg1", "server": "server1",
			"location": "onprem", "implicit_agent": "agent1",
		}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.config, text, 0o600))
	refused := r.command(f.args()...)
	out, err := refused.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exit.CodeSchema, refused.ProcessState.ExitCode(), "%s", out)
	f.start(true)
	t.Cleanup(f.stop)
	f.works()
	return f
}

// args are the arguments of the command.
func (f *upgradedFront) args() []string {
	return []string{"serve", "--insecure-http", "--listen", f.address, "--config", f.config}
}

// start starts a front of the earlier release, or of this one, in place of the one that runs.
func (f *upgradedFront) start(earlier bool) {
	t := f.r.t
	f.stop()
	log, err := os.OpenFile(filepath.Join(f.r.dir, "front.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	cmd := f.r.command(f.args()...)
	if earlier {
		cmd = f.r.earlierCommand(f.args()...)
	}
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	f.process, f.earlier = &crashAgent{cmd: cmd, ended: make(chan struct{})}, earlier
	go func(p *crashAgent) { // ends with the process; stop waits for it
		defer close(p.ended)
		_ = cmd.Wait() // its end was asked for
	}(f.process)
}

// stop ends the process in order.
func (f *upgradedFront) stop() {
	if f.process != nil {
		_ = f.process.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
		<-f.process.ended
	}
}

// works waits until the front starts a run.
func (f *upgradedFront) works() {
	before := f.acknowledged[f.earlier]
	eventually(f.r.t, 30*time.Second, "the front starts a run", func() bool {
		f.startRun()
		return f.acknowledged[f.earlier] > before
	})
}

// startRun starts a run in every fifth call, and records the run if the front has acknowledged it.
func (f *upgradedFront) startRun() {
	if f.turns++; f.turns%5 != 0 {
		return
	}
	id := uuid.New()
	path := accountsServer + "/jobAgents/agent1/jobs/" + url.PathEscape(crashJob(f.turns/5)) + "/executions/" + id.String() + accountsVersion
	request, err := http.NewRequestWithContext(f.r.t.Context(), http.MethodPut, "http://"+f.address+path, strings.NewReader("{}"))
	require.NoError(f.r.t, err)
	request.Header.Set("Authorization", "Bearer "+f.token)
	client := http.Client{Timeout: 2 * time.Second}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated || response.StatusCode == http.StatusAccepted:
		f.r.started = append(f.r.started, id)
		f.acknowledged[f.earlier]++
	case response.StatusCode != http.StatusServiceUnavailable:
		text, _ := io.ReadAll(response.Body)
		f.r.t.Errorf("the front answers a start with status %d: %s", response.StatusCode, text)
	}
}
