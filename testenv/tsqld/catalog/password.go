package catalog

import (
	"bytes"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"unicode/utf16"
)

// Format of a password hash: the version 0x0200, a salt of 4 bytes, and SHA-512 of the password in
// UTF-16LE followed by the salt. PWDENCRYPT and sys.sql_logins have the same format since SQL
// Server 2012.
const (
	hashVersion = "\x02\x00"
	saltSize    = 4
	hashSize    = len(hashVersion) + saltSize + sha512.Size
)

// HashPassword returns the hash of a password with a random salt.
func HashPassword(password string) []byte {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	return hashWith(password, salt)
}

// hashWith returns the hash of a password with a given salt.
func hashWith(password string, salt []byte) []byte {
	var plain []byte
	for _, u := range utf16.Encode([]rune(password)) {
		plain = binary.LittleEndian.AppendUint16(plain, u)
	}
	sum := sha512.Sum512(append(plain, salt...))
	return append(append([]byte(hashVersion), salt...), sum[:]...)
}

// dummyHash is a hash that no password has. CheckPassword uses it in place of an invalid hash.
var dummyHash = append([]byte(hashVersion), make([]byte, hashSize-len(hashVersion))...)

// CheckPassword reports whether a hash is that of a password. An invalid hash gives false and takes
// as long as a valid one.
func CheckPassword(hash []byte, password string) bool {
	known := len(hash) == hashSize && bytes.HasPrefix(hash, []byte(hashVersion))
	if !known {
		hash = dummyHash
	}
	salt := hash[len(hashVersion) : len(hashVersion)+saltSize]
	return subtle.ConstantTimeCompare(hash, hashWith(password, salt)) == 1 && known
}

// newSID returns a security ID for a SQL login: 16 random bytes.
func newSID() []byte {
	sid := make([]byte, 16)
	_, _ = rand.Read(sid) // never fails (crypto/rand)
	return sid
}
