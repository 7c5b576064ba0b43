package process

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// markerVariable is the variable that identifies the processes of a step on a target. Its value is
// the idempotency key.
const markerVariable = "JOBAGENT_IDEMPOTENCY_KEY"

// directory is the attempt's own directory.
type directory struct {
	path    string
	payload string   // path of the file of the run's parameters; empty for none
	lock    *os.File // locked while this agent lives
}

// errInUse means that another agent uses a directory.
var errInUse = errors.New("another agent uses the directory")

// directoryPrefix is the beginning of the names of the directories of a step on a target.
func (t *attempt) directoryPrefix() string { return "jobagent-" + t.Key.String() + "-" }

// makeDirectory makes the attempt's own directory, readable by the entry's user only. It removes
// the directories that earlier attempts of a dead agent left.
func (t *attempt) makeDirectory() (directory, error) {
	left, err := filepath.Glob(filepath.Join(t.workDir, t.directoryPrefix()+"*"))
	if err != nil {
		return directory{}, err
	}
	for _, one := range left {
		if err := t.removeLeft(one); err != nil {
			return directory{}, err
		}
	}
	made, err := os.MkdirTemp(t.workDir, t.directoryPrefix()) // mode 0700
	if err != nil {
		return directory{}, err
	}
	d := directory{path: made}
	d.lock, err = lockDirectory(made)
	if err == nil && t.Payload != "" {
		d.payload = filepath.Join(made, "payload.json")
		err = os.WriteFile(d.payload, []byte(t.Payload), 0o600)
	}
	for _, one := range []string{d.payload, d.path} {
		if err == nil && one != "" {
			err = t.entry.user.own(one)
		}
	}
	if err != nil {
		return directory{}, errors.Join(err, d.remove())
	}
	return d, nil
}

// removeLeft removes the directory of an earlier attempt. An agent that sweeps, or that ends the
// earlier attempt, locks the directory for a moment. If it keeps the lock longer, it will remove
// the directory.
func (t *attempt) removeLeft(path string) error {
	for deadline := time.Now().Add(t.drain); ; {
		lock, err := lockDirectory(path)
		switch {
		case err == nil:
			defer lock.Close()
			return os.RemoveAll(path)
		case errors.Is(err, os.ErrNotExist):
			return nil
		case !errors.Is(err, errInUse):
			return err
		case time.Now().After(deadline):
			return nil
		}
		<-time.After(10 * time.Millisecond) // nothing reports the end of a lock
	}
}

func (d directory) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		d.lock.Close()
	}
	return err
}

// directoryName matches the names of the attempts' directories: the key, and a number.
var directoryName = regexp.MustCompile(`^jobagent-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-[0-9]+$`)

// sweep kills the processes and removes the directories of attempts whose agents have died. The
// next attempt finds those that sweep cannot kill or remove.
func (r *Runner) sweep() {
	if !sweeps {
		return
	}
	left, err := os.ReadDir(r.workDir)
	if err != nil {
		return // the first attempt reports it
	}
	for _, one := range left {
		name := directoryName.FindStringSubmatch(one.Name())
		if name == nil || !one.IsDir() {
			continue
		}
		path := filepath.Join(r.workDir, one.Name())
		lock, err := lockDirectory(path)
		if err != nil {
			continue // its agent is alive
		}
		// An attempt with this key waits for the lock before it starts.
		if _, err := r.host.endLeftovers(name[1]); err == nil {
			os.RemoveAll(path) // the next attempt tries again
		}
		lock.Close()
	}
}

// environment returns the whole environment of the process. It has no variable of the agent's
// environment.
func (t *attempt) environment(dir directory) []string {
	all := map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": dir.path, "LANG": "C.UTF-8", "TZ": "UTC",
	}
	maps.Copy(all, platformEnvironment(dir.path))
	maps.Copy(all, t.entry.Env)
	maps.Copy(all, map[string]string{
		"JOBAGENT_JOB_NAME":    t.JobName,
		"JOBAGENT_RUN_ID":      t.JobExecutionID.String(),
		"JOBAGENT_STEP_ID":     strconv.Itoa(t.StepID),
		"JOBAGENT_STEP_NAME":   t.StepName,
		"JOBAGENT_ATTEMPT":     strconv.Itoa(t.Number),
		"JOBAGENT_DUE_AT":      t.DueAt.UTC().Format(time.RFC3339Nano),
		"JOBAGENT_DIRECTORY":   dir.path,
		"JOBAGENT_SERVER_NAME": t.Target.Server,
		markerVariable:         t.Key.String(),
	})
	optional := map[string]string{
		"JOBAGENT_DATABASE_NAME":  t.Target.Database,
		"JOBAGENT_PAYLOAD_FILE":   dir.payload,
		"JOBAGENT_CALLBACK_URL":   t.CallbackURL,
		"JOBAGENT_CALLBACK_TOKEN": callbackToken(t.CallbackURL),
	}
	maps.DeleteFunc(optional, func(_, value string) bool { return value == "" })
	maps.Copy(all, optional)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		// A name of an author may contain NUL, which the operating system cannot pass.
		list = append(list, fmt.Sprintf("%s=%s", name, strings.ReplaceAll(all[name], "\x00", "\uFFFD")))
	}
	return list
}

// callbackToken returns the token of a callback URL, its last segment; empty for no URL.
func callbackToken(callback string) string {
	u, err := url.Parse(callback)
	if err != nil || callback == "" {
		return ""
	}
	return path.Base(u.Path)
}

// secrets returns the texts to be masked in messages.
func (t *attempt) secrets() []string {
	all := []string{t.CallbackURL, callbackToken(t.CallbackURL)}
	if t.Action != nil {
		all = append(all, t.Action.Secrets...)
	}
	return all
}

// input returns the standard input: the input of the step, or the run's parameters.
func (t *attempt) input() string {
	if t.Action.Process.Input != "" {
		return t.Action.Process.Input
	}
	return t.Payload
}
