package queue

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nodeProcess is a running node program.
type nodeProcess struct {
	mu     sync.Mutex
	more   *sync.Cond // signaled after each line, and at the end of the output
	lines  []string
	ended  bool
	stderr bytes.Buffer
}

// startNode starts a program of node, and ends it with the test.
func startNode(t *testing.T, modules string, args ...string) *nodeProcess {
	t.Helper()
	p := &nodeProcess{}
	p.more = sync.NewCond(&p.mu)
	if !filepath.IsAbs(args[0]) {
		script, err := filepath.Abs(args[0])
		require.NoError(t, err)
		args = append([]string{script}, args[1:]...)
	}
	cmd := exec.Command("node", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stderr = &p.stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		scanner := bufio.NewScanner(stdout)
		scanner.Buffer(nil, 1<<22)
		for scanner.Scan() {
			p.mu.Lock()
			p.lines = append(p.lines, scanner.Text())
			p.more.Broadcast()
			p.mu.Unlock()
		}
		_, _ = io.Copy(io.Discard, stdout)
		p.mu.Lock()
		p.ended = true
		p.more.Broadcast()
		p.mu.Unlock()
	}()
	// A program that hangs ends, and so does what waits for its output.
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		limit.Stop()
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of %s:\n%s\n%s", args[0], strings.Join(p.lines, "\n"), p.stderr.String())
		}
	})
	return p
}

// line waits for a line of the output that begins with prefix, and returns the rest of it.
func (p *nodeProcess) line(t *testing.T, prefix string) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for from := 0; ; {
		for ; from < len(p.lines); from++ {
			if rest, ok := strings.CutPrefix(p.lines[from], prefix); ok {
				return strings.TrimSpace(rest)
			}
		}
		if p.ended {
			require.Failf(t, "the program has ended", "no line begins with %q; stderr: %s", prefix, p.stderr.String())
		}
		p.more.Wait()
	}
}

// all returns the lines so far that contain part.
func (p *nodeProcess) all(part string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []string
	for _, line := range p.lines {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return found
}

// waitFor waits until n lines contain part, or the output ends.
func (p *nodeProcess) waitFor(part string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.ended {
		found := 0
		for _, line := range p.lines {
			if strings.Contains(line, part) {
				found++
			}
		}
		if found >= n {
			return
		}
		p.more.Wait()
	}
}
