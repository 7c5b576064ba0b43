package embedded

import (
	"fmt"
	"runtime"
	"strings"
)

// Quote returns a word for the shell: of POSIX, or PowerShell on Windows.
func Quote(word string) string {
	if runtime.GOOS == "windows" {
		return "'" + strings.ReplaceAll(word, "'", "''") + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Export returns the command that sets an environment variable.
func Export(name, value string) string {
	if runtime.GOOS == "windows" {
		return fmt.Sprintf("$env:%s = %s", name, Quote(value))
	}
	return fmt.Sprintf("export %s=%s", name, Quote(value))
}

// Sqlcmd returns the command that connects sqlcmd as sa. -C accepts the server's own certificate,
// which no authority has signed. The password is in the environment, because other users can read
// the arguments of processes.
func Sqlcmd(server, database, password string) string {
	command := fmt.Sprintf("sqlcmd -S %s -d %s -U sa -C", server, database)
	if runtime.GOOS == "windows" {
		return fmt.Sprintf("$env:SQLCMDPASSWORD = %s; %s", Quote(password), command)
	}
	return fmt.Sprintf("SQLCMDPASSWORD=%s %s", Quote(password), command)
}
