package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock restricts a thread and everything that it starts (landlock(7)). It permits only what its
// rules list, and a rule for a directory includes everything beneath it. So hiding a file needs a
// rule for every other entry of its directory, and of each directory above it.

// landlockLeast is the first version whose processes can move files between directories (Linux
// 5.19).
const landlockLeast = 2

// Rights of rules. Execution and the listing of directories are not restricted.
const (
	landlockFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	landlockDir  = landlockFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// landlockVersion returns the version of Landlock that the kernel offers; 0 means none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// exposed returns the reason why a process of the entry can use the agent's files; empty if it
// cannot.
func (h *host) exposed(e *entry) string {
	switch {
	case e.user.isOther(), h.fences(e), e.AgentFiles && os.Geteuid() != 0:
		return ""
	case os.Geteuid() == 0:
		return "give the entry a user of its own"
	case e.NewPrivileges:
		return "Landlock cannot hide the files from an entry with new_privileges"
	}
	return "the kernel has no Landlock, which could hide the files: it needs Linux 5.19 and landlock among its security modules"
}

// fences reports whether the agent's files are hidden from the processes of an entry. They are not
// hidden from root, and root may change the user.
func (h *host) fences(e *entry) bool {
	return os.Geteuid() != 0 && h.landlock >= landlockLeast && !e.NewPrivileges && !e.AgentFiles
}

// hideFiles hides the agent's files from this thread and from everything that it starts. kept are
// paths that stay usable, except for hidden files beneath them.
func (h *host) hideFiles(kept ...string) error {
	f := fence{hidden: resolved(h.hidden)}
	if len(f.hidden) == 0 {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landlockDir}
	if h.landlock >= 3 {
		f.truncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attr.Handled_access_fs |= f.truncate
	// The size of the first version of the structure, because older kernels refuse unknown fields.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	f.ruleset = int(fd)
	defer unix.Close(f.ruleset)
	err := f.permitBeside("/")
	for _, path := range kept {
		if found, findErr := filepath.EvalSymlinks(path); err == nil && findErr == nil && !f.holds(found) {
			err = f.permit(found)
		}
	}
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// resolved returns the files without symbolic links, and the links themselves. A file need not
// exist.
func resolved(files []string) (all []string) {
	for _, path := range files {
		path, err := filepath.Abs(path)
		if err != nil {
			continue // without a working directory, a relative path cannot be resolved
		}
		for _, one := range []string{filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path)), realPath(path)} {
			// A pipe of --config <(…) has no path.
			if !strings.HasPrefix(one, "/proc/") && !strings.HasPrefix(one, "/dev/") && !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// realPath resolves the symbolic links of a path as far as the path exists.
func realPath(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil || path == "/" {
		return found
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

// fence is a set of rules.
type fence struct {
	ruleset  int
	hidden   []string // paths without symbolic links
	truncate uint64   // LANDLOCK_ACCESS_FS_TRUNCATE where the kernel knows it
}

// holds reports whether a hidden file is at a path or beneath.
func (f *fence) holds(path string) bool {
	return slices.ContainsFunc(f.hidden, func(one string) bool {
		return one == path || strings.HasPrefix(one, strings.TrimSuffix(path, "/")+"/")
	})
}

// permitBeside permits all entries of a directory above hidden files, except the hidden files.
func (f *fence) permitBeside(dir string) error {
	inside, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, unix.ENOTDIR): // a hidden file that cannot exist
		return f.permit(dir)
	case errors.Is(err, os.ErrPermission): // the directory cannot be listed, but may be traversed
		for _, one := range f.hidden {
			rest, inside := strings.CutPrefix(one, strings.TrimSuffix(dir, "/")+"/")
			if next, _, further := strings.Cut(rest, "/"); inside && further {
				if err := f.permitBeside(filepath.Join(dir, next)); err != nil {
					return err
				}
			}
		}
		return nil
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	for _, one := range inside {
		var err error
		path := filepath.Join(dir, one.Name())
		switch {
		case one.Type()&os.ModeSymlink != 0: // its destination has a rule or is hidden
		case slices.Contains(f.hidden, path):
		case f.holds(path):
			err = f.permitBeside(path)
		default:
			err = f.permit(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// permit permits a path and everything beneath it. It ignores a path that does not exist any more.
func (f *fence) permit(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: landlockFile | f.truncate, Parent_fd: int32(fd)}
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		rule.Allowed_access |= landlockDir
	case unix.S_IFLNK:
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(f.ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 && errno != unix.EBADFD { // EBADFD: the file has no path
		return &os.PathError{Op: "landlock_add_rule", Path: path, Err: errno}
	}
	return nil
}
