package catalog

import (
	"bytes"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"unicode/utf16"
)

// Form of a password hash: the version 0x0200, a salt of 4 bytes, SHA-512 of the password in UTF-16LE and the
// salt, as PWDENCRYPT and sys.sql_logins have it since SQL Server 2012.
const (
	hashVersion = "\x02\x00"
	saltSize    = 4
	hashSize    = len(hashVersion) + saltSize + sha512.Size
)

// HashPassword makes the stored form of a password.
func HashPassword(password string) []byte {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	return hashWith(password, salt)
}

// hashWith hashes with a given salt.
func hashWith(password string, salt []byte) []byte {
	var plain []byte
	for _, u := range utf16.Encode([]rune(password)) {
		plain = binary.LittleEndian.AppendUint16(plain, u)
	}
	sum := sha512.Sum512(append(plain, salt...))
	return append(append([]byte(hashVersion), salt...), sum[:]...)
}

// nobody is a stored form that no password has: it stands for what is none in CheckPassword.
var nobody = append([]byte(hashVersion), make([]byte, hashSize-len(hashVersion))...)

// CheckPassword compares a password with a stored form; false for anything that is no stored form, which takes as long.
func CheckPassword(hash []byte, password string) bool {
	known := len(hash) == hashSize && bytes.HasPrefix(hash, []byte(hashVersion))
	if !known {
		hash = nobody
	}
	salt := hash[len(hashVersion) : len(hashVersion)+saltSize]
	return subtle.ConstantTimeCompare(hash, hashWith(password, salt)) == 1 && known
}

// newSID makes the security id of a SQL login: 16 random bytes.
func newSID() []byte {
	sid := make([]byte, 16)
	_, _ = rand.Read(sid) // never fails (crypto/rand)
	return sid
}
