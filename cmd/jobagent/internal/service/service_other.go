//go:build !windows

package service

// Run runs nothing: services of Windows exist on Windows only. ok is false.
func Run(Program) (code int, ok bool) { return 0, false }
