//go:build !linux

package process

// Protect does nothing on this operating system; missing says so.
func Protect() (missing string, err error) {
	return "processes of the agent's user can read its memory, environment and open files: this system offers no protection", nil
}
