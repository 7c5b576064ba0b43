//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// identity is the user of a process. nil is the agent's own user.
type identity struct{ credential syscall.Credential }

// lookupIdentity finds a user by name or number.
func lookupIdentity(name string) (*identity, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only an agent of user root can run processes as another user")
	}
	found, err := user.Lookup(name)
	if err != nil {
		if found, err = user.LookupId(name); err != nil {
			return nil, errors.New("the user does not exist")
		}
	}
	groups, err := found.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("list the user's groups: %w", err)
	}
	who := &identity{}
	for _, id := range append([]string{found.Uid, found.Gid}, groups...) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("invalid user or group id %q: want a number", id)
		}
		who.credential.Groups = append(who.credential.Groups, uint32(n))
	}
	who.credential.Uid, who.credential.Gid = who.credential.Groups[0], who.credential.Groups[1]
	who.credential.Groups = who.credential.Groups[2:]
	return who, nil
}

// isOther reports whether the user is not the agent's.
func (i *identity) isOther() bool { return i != nil && int(i.credential.Uid) != os.Geteuid() }

// own makes the user the owner of a file.
func (i *identity) own(path string) error {
	if i == nil {
		return nil
	}
	return os.Chown(path, int(i.credential.Uid), int(i.credential.Gid))
}

// sweeps reports whether the directories of dead agents can be identified.
const sweeps = true

// lockDirectory marks a directory as in use by this agent until the returned file is closed, or the
// agent dies. The error is errInUse if another agent uses the directory.
func lockDirectory(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errInUse
		}
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		dir.Close()
		return nil, err // another agent has just removed it
	}
	return dir, nil
}

// platformEnvironment returns the variables of this operating system. dir is the attempt's own
// directory, which may be the only place for temporary files, because nothing can be created beside
// a hidden file.
func platformEnvironment(dir string) map[string]string { return map[string]string{"TMPDIR": dir} }

// describeExit returns the exit code or the signal.
func describeExit(state *os.ProcessState) *ExitError {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return &ExitError{Code: state.ExitCode(), Hint: hint(state.ExitCode())}
	}
	exit := &ExitError{Code: 128 + int(status.Signal()), Signal: signalName(status.Signal())}
	if status.CoreDump() {
		exit.Hint = "core dumped"
	}
	return exit
}
