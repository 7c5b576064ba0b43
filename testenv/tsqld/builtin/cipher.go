package builtin

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha1" // of the authenticator, as documented for ENCRYPTBYPASSPHRASE
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// cipherFuncs encrypt, hash passwords and make random bytes ("Cryptographic functions
// (Transact-SQL)").
var cipherFuncs = []*Func{
	perRow("CRYPT_GEN_RANDOM", 1, 2, types.VarBinaryOf(maxBytes), evalRandomBytes),
	perRow("PWDENCRYPT", 1, 1, types.VarBinaryOf(128), evalPasswordHash),
	lenient("PWDCOMPARE", 2, 3, fixed(types.IntType), evalPasswordCompare),
	perRow("ENCRYPTBYPASSPHRASE", 2, 4, types.VarBinaryOf(maxBytes), evalEncrypt),
	lenient("DECRYPTBYPASSPHRASE", 2, 4, fixed(types.VarBinaryOf(maxBytes)), evalDecrypt),
}

// perRow makes a function that returns a new value for every row.
func perRow(name string, minArgs, maxArgs int, result types.Type, eval evalFunc) *Func {
	return &Func{Name: name, MinArgs: minArgs, MaxArgs: maxArgs, Volatility: PerRow, Result: fixed(result), Eval: eval}
}

// evalRandomBytes returns NULL for a length that is not from 1 to 8000. The seed only adds to the
// randomness of SQL Server's generator, so it has no effect here.
func evalRandomBytes(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	n, err := convert.Integer(args[0], ts[0])
	if err != nil || n < 1 || n > maxBytes {
		return nil, err
	}
	return randomBytes(n)
}

func randomBytes(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := rand.Read(b)
	return b, err
}

// passwordVersion begins the hash of a password of SQL Server 2012 and later. A salt of
// passwordSalt bytes follows, and the SHA-512 of the password in UTF-16 with the salt.
const (
	passwordVersion = "\x02\x00"
	passwordSalt    = 4
)

func passwordHash(password string, salt []byte) ([]byte, error) {
	plain, err := rawBytes(password, types.NVarCharMax)
	if err != nil {
		return nil, err
	}
	sum := sha512.Sum512(append(plain, salt...))
	return append(append([]byte(passwordVersion), salt...), sum[:]...), nil
}

// evalPasswordHash hashes a password of at most 128 characters.
func evalPasswordHash(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil {
		return nil, nil
	}
	password, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	salt, err := randomBytes(passwordSalt)
	if err != nil {
		return nil, err
	}
	return passwordHash(types.Left(password, 128), salt)
}

// evalPasswordCompare returns 1 if a hash is that of the password.
func evalPasswordCompare(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	password, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	hash, err := rawBytes(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	head := len(passwordVersion) + passwordSalt
	if len(hash) != head+sha512.Size || string(hash[:len(passwordVersion)]) != passwordVersion {
		return int64(0), nil
	}
	same, err := passwordHash(types.Left(password, 128), hash[len(passwordVersion):head])
	if err != nil {
		return nil, err
	}
	return int64(subtle.ConstantTimeCompare(same, hash)), nil
}

// The form of ENCRYPTBYPASSPHRASE since SQL Server 2017: cipherVersion, an initialization vector,
// and AES-256 in CBC mode of a header with cipherMagic, the length of the authenticator's hash and
// that of the text, then the hash and the text. The key is the SHA-256 of the passphrase in UTF-16.
const (
	cipherVersion = "\x02\x00\x00\x00"
	cipherMagic   = 0xBAADF00D
	cipherHeader  = 8
)

// cipherArgs are the arguments of ENCRYPTBYPASSPHRASE and DECRYPTBYPASSPHRASE.
type cipherArgs struct {
	block cipher.Block
	text  []byte
	// sign and authenticator ask for a hash of the text with another value.
	sign          bool
	authenticator []byte
}

// readCipher reads the arguments; nil if one of the first two is NULL.
func readCipher(ts []types.Type, args []types.Value) (*cipherArgs, error) {
	if args[0] == nil || args[1] == nil {
		return nil, nil
	}
	phrase, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	wide, err := rawBytes(phrase, types.NVarCharMax)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(wide)
	c := &cipherArgs{}
	if c.block, err = aes.NewCipher(key[:]); err != nil {
		return nil, err
	}
	if c.text, err = rawBytes(args[1], ts[1]); err != nil {
		return nil, err
	}
	if len(args) > 2 && args[2] != nil {
		n, err := convert.Integer(args[2], ts[2])
		if err != nil {
			return nil, err
		}
		c.sign = n != 0
	}
	if c.sign {
		if len(args) < 4 || args[3] == nil {
			return nil, nil
		}
		if c.authenticator, err = rawBytes(args[3], ts[3]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// hash returns the hash of a text and the authenticator; empty without an authenticator.
func (c *cipherArgs) hash(text []byte) []byte {
	if !c.sign {
		return nil
	}
	sum := sha1.Sum(append(append([]byte(nil), text...), c.authenticator...))
	return sum[:]
}

// evalEncrypt returns NULL for a text whose cipher text would be longer than 8000 bytes.
func evalEncrypt(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	c, err := readCipher(ts, args)
	if c == nil || err != nil {
		return nil, err
	}
	hash := c.hash(c.text)
	plain := binary.LittleEndian.AppendUint32(nil, cipherMagic)
	plain = binary.LittleEndian.AppendUint16(plain, uint16(len(hash)))
	plain = binary.LittleEndian.AppendUint16(plain, uint16(len(c.text)))
	plain = append(append(plain, hash...), c.text...)
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	plain = append(plain, bytes.Repeat([]byte{byte(pad)}, pad)...)
	if len(cipherVersion)+aes.BlockSize+len(plain) > maxBytes {
		return nil, mserr.Truncated().WithState(10)
	}
	vector, err := randomBytes(aes.BlockSize)
	if err != nil {
		return nil, err
	}
	cipher.NewCBCEncrypter(c.block, vector).CryptBlocks(plain, plain)
	return append(append([]byte(cipherVersion), vector...), plain...), nil
}

// evalDecrypt returns NULL for another passphrase, another authenticator, and bytes that are no
// cipher text.
func evalDecrypt(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	c, err := readCipher(ts, args)
	if c == nil || err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(c.text, []byte(cipherVersion))
	if !ok || len(rest) < 2*aes.BlockSize || len(rest)%aes.BlockSize != 0 {
		return nil, nil
	}
	plain := append([]byte(nil), rest[aes.BlockSize:]...)
	cipher.NewCBCDecrypter(c.block, rest[:aes.BlockSize]).CryptBlocks(plain, plain)
	if binary.LittleEndian.Uint32(plain) != cipherMagic {
		return nil, nil
	}
	hashed, size := int(binary.LittleEndian.Uint16(plain[4:])), int(binary.LittleEndian.Uint16(plain[6:]))
	if cipherHeader+hashed+size > len(plain) {
		return nil, nil
	}
	text := plain[cipherHeader+hashed:][:size]
	if !bytes.Equal(plain[cipherHeader:][:hashed], c.hash(text)) {
		return nil, nil
	}
	return text, nil
}
