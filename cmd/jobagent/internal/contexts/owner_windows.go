package contexts

import "io/fs"

// ownedByUser is true: access lists guard the files of a profile.
func ownedByUser(fs.FileInfo) bool { return true }
