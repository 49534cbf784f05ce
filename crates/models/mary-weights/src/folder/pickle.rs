//! A reader of the pickles that `torch.save` writes, which executes nothing.
//!
//! Pickle is a small stack machine whose programs may call any Python function. Here only the
//! opcodes that a state dict needs are known, and the only "functions" are the handful of names
//! torch uses to describe a tensor; every other name is refused. Values live in one arena and
//! refer to each other by index, so that a hostile file can neither nest deeper than the stack nor
//! hold more than a small multiple of its own size.

use crate::TensorType;

pub(crate) type Refusal = String;

type Id = usize;

#[derive(Debug, Clone)]
enum Node {
    None,
    Bool,
    Int(i64),
    Float,
    Text(String),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Name(Name),
    Storage(Storage),
    Tensor(Tensor),
}

/// The names a state dict may call on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Name {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(TensorType),
}

/// A block of numbers in the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Storage {
    /// Its file name in the container.
    pub key: String,
    pub dtype: TensorType,
    pub numbers: usize,
}

/// A view into a storage, in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub storage: Storage,
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
}

pub(crate) fn state_dict(bytes: &[u8]) -> Result<Vec<(String, Tensor)>, Refusal> {
    let mut machine = Machine {
        bytes,
        at: 0,
        nodes: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
    };
    let top = machine.run()?;
    machine.tensors(top)
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<Id>,
    marks: Vec<usize>,
    memo: Vec<Option<Id>>,
}

impl Machine<'_> {
    fn run(&mut self) -> Result<Id, Refusal> {
        loop {
            let op = self.byte()?;
            match op {
                b'.' => return self.pop(),
                0x80 => {
                    let protocol = self.byte()?;
                    if !(2..=5).contains(&protocol) {
                        return Err(format!("pickle protocol {protocol} is not known"));
                    }
                }
                0x95 => drop(self.take(8)?), // FRAME
                b'N' => self.push(Node::None),
                0x88 | 0x89 => self.push(Node::Bool),
                b'K' | b'M' | b'J' | 0x8a => self.integer(op)?,
                b'G' => {
                    self.take(8)?;
                    self.push(Node::Float);
                }
                b'X' | 0x8c | 0x8d => self.text(op)?,
                b'c' | 0x93 => self.name(op)?,
                b'(' => self.marks.push(self.stack.len()),
                b')' => self.push(Node::Tuple(Vec::new())),
                b't' | 0x85..=0x87 => {
                    let items = self.items(op == b't', usize::from(op.wrapping_sub(0x84)))?;
                    self.push(Node::Tuple(items));
                }
                b']' => self.push(Node::List(Vec::new())),
                b'}' => self.push(Node::Dict(Vec::new())),
                b'a' | b'e' => {
                    let items = self.items(op == b'e', 1)?;
                    self.append(items)?;
                }
                b's' | b'u' => {
                    let items = self.items(op == b'u', 2)?;
                    self.set_items(&items)?;
                }
                b'q' | b'r' | 0x94 => self.remember(op)?,
                b'h' | b'j' => {
                    let slot = self.slot(op)?;
                    let id = self.memo.get(slot).copied().flatten();
                    self.stack
                        .push(id.ok_or_else(|| format!("memo {slot} was never set"))?);
                }
                b'Q' => self.storage()?,
                b'R' => self.call()?,
                b'b' => drop(self.pop()?), // BUILD: attributes of the dict, of no use here
                other => return Err(self.unknown(other)),
            }
        }
    }

    fn unknown(&self, op: u8) -> Refusal {
        let shown = if op.is_ascii_graphic() {
            format!("`{}`", char::from(op))
        } else {
            format!("0x{op:02x}")
        };
        format!(
            "opcode {shown} at byte {} is not one a state dict needs",
            self.at.saturating_sub(1)
        )
    }

    fn take(&mut self, n: usize) -> Result<&[u8], Refusal> {
        let end = self.at.checked_add(n).filter(|&e| e <= self.bytes.len());
        let end =
            end.ok_or_else(|| format!("ends in the middle of something, at byte {}", self.at))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Refusal> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Result<usize, Refusal> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(bytes) as usize)
    }

    fn push(&mut self, node: Node) {
        self.stack.push(self.nodes.len());
        self.nodes.push(node);
    }

    fn pop(&mut self) -> Result<Id, Refusal> {
        self.stack
            .pop()
            .ok_or_else(|| "takes from an empty stack".into())
    }

    fn pop_many(&mut self, n: usize) -> Result<Vec<Id>, Refusal> {
        let from = self.stack.len().checked_sub(n);
        let from = from.ok_or("takes from an empty stack")?;
        Ok(self.stack.split_off(from))
    }

    fn since_mark(&mut self) -> Result<Vec<Id>, Refusal> {
        let mark = self.marks.pop().ok_or("closes a group it never opened")?;
        if mark > self.stack.len() {
            return Err("takes from an empty stack".into());
        }
        Ok(self.stack.split_off(mark))
    }

    /// So many things, or all since the mark.
    fn items(&mut self, marked: bool, n: usize) -> Result<Vec<Id>, Refusal> {
        match marked {
            true => self.since_mark(),
            false => self.pop_many(n),
        }
    }

    /// Which memo is meant.
    fn slot(&mut self, op: u8) -> Result<usize, Refusal> {
        match op {
            b'q' | b'h' => Ok(usize::from(self.byte()?)),
            b'r' | b'j' => self.u32(),
            _ => Ok(self.memo.len()),
        }
    }

    fn integer(&mut self, op: u8) -> Result<(), Refusal> {
        let n = match op {
            b'K' => 1,
            b'M' => 2,
            b'J' => 4,
            _ => usize::from(self.byte()?),
        };
        if n > 8 {
            return Err(format!("holds an integer of {n} bytes"));
        }
        let taken = self.take(n)?;
        let signed = op == b'J' || op == 0x8a;
        let fill = if signed && taken.last().is_some_and(|b| b & 0x80 != 0) {
            0xff
        } else {
            0
        };
        let mut bytes = [fill; 8];
        bytes[..n].copy_from_slice(taken);
        self.push(Node::Int(i64::from_le_bytes(bytes)));
        Ok(())
    }

    fn text(&mut self, op: u8) -> Result<(), Refusal> {
        let n = match op {
            0x8c => usize::from(self.byte()?),
            b'X' => self.u32()?,
            _ => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(self.take(8)?);
                usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| "holds an endless text")?
            }
        };
        let text =
            std::str::from_utf8(self.take(n)?).map_err(|_| "holds text that is not UTF-8")?;
        let text = text.to_owned();
        self.push(Node::Text(text));
        Ok(())
    }

    fn line(&mut self) -> Result<String, Refusal> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|&b| b == b'\n');
        let end = end.ok_or("a name without an end")?;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| "a name that is not UTF-8")?;
        let line = line.to_owned();
        self.at += end + 1;
        Ok(line)
    }

    fn name(&mut self, op: u8) -> Result<(), Refusal> {
        let (module, name) = if op == b'c' {
            (self.line()?, self.line()?)
        } else {
            let pair = self.pop_many(2)?;
            match (&self.nodes[pair[0]], &self.nodes[pair[1]]) {
                (Node::Text(module), Node::Text(name)) => (module.clone(), name.clone()),
                _ => return Err("a name that is not text".into()),
            }
        };
        let known = match (module.as_str(), name.as_str()) {
            ("collections", "OrderedDict") => Name::OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2") => Name::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Name::RebuildParameter,
            ("torch", "FloatStorage") => Name::Storage(TensorType::F32),
            ("torch", "HalfStorage") => Name::Storage(TensorType::F16),
            ("torch", "BFloat16Storage") => Name::Storage(TensorType::BF16),
            ("torch", "DoubleStorage") => Name::Storage(TensorType::F64),
            ("torch", "CharStorage") => Name::Storage(TensorType::I8),
            ("torch", "ByteStorage" | "BoolStorage") => Name::Storage(TensorType::U8),
            ("torch", "ShortStorage") => Name::Storage(TensorType::I16),
            ("torch", "IntStorage") => Name::Storage(TensorType::I32),
            ("torch", "LongStorage") => Name::Storage(TensorType::I64),
            _ => {
                return Err(format!(
                    "calls on `{}`, which a state dict does not need; nothing was executed",
                    shown(&format!("{module}.{name}"))
                ));
            }
        };
        self.push(Node::Name(known));
        Ok(())
    }

    fn remember(&mut self, op: u8) -> Result<(), Refusal> {
        let slot = self.slot(op)?;
        let id = *self.stack.last().ok_or("remembers an empty stack")?;
        // torch numbers its memos one after the other; a far slot would only make us allocate.
        if slot > self.memo.len() + 256 {
            return Err(format!("memo {slot} is out of order"));
        }
        if slot >= self.memo.len() {
            self.memo.resize(slot + 1, None);
        }
        self.memo[slot] = Some(id);
        Ok(())
    }

    fn append(&mut self, items: Vec<Id>) -> Result<(), Refusal> {
        let &list = self.stack.last().ok_or("appends to nothing")?;
        match &mut self.nodes[list] {
            Node::List(list) => list.extend(items),
            _ => return Err("appends to something that is not a list".into()),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[Id]) -> Result<(), Refusal> {
        let &dict = self.stack.last().ok_or("sets an item of nothing")?;
        let (pairs, rest) = items.as_chunks::<2>();
        match &mut self.nodes[dict] {
            Node::Dict(dict) if rest.is_empty() => dict.extend(pairs.iter().map(|p| (p[0], p[1]))),
            Node::Dict(_) => return Err("a key without a value".into()),
            _ => return Err("sets an item of something that is not a dict".into()),
        }
        Ok(())
    }

    /// `('storage', class, key, location, numel)`.
    fn storage(&mut self) -> Result<(), Refusal> {
        let id = self.pop()?;
        let wrong = || Refusal::from("a storage that is not described as torch does");
        let Node::Tuple(parts) = &self.nodes[id] else {
            return Err(wrong());
        };
        let [_, class, key, _, numel] = parts[..] else {
            return Err(wrong());
        };
        let (Node::Name(Name::Storage(dtype)), Node::Text(key), Node::Int(numel)) =
            (&self.nodes[class], &self.nodes[key], &self.nodes[numel])
        else {
            return Err(wrong());
        };
        let storage = Storage {
            key: key.clone(),
            dtype: *dtype,
            numbers: usize::try_from(*numel).map_err(|_| wrong())?,
        };
        self.push(Node::Storage(storage));
        Ok(())
    }

    fn call(&mut self) -> Result<(), Refusal> {
        let pair = self.pop_many(2)?;
        let (Node::Name(name), Node::Tuple(arguments)) =
            (&self.nodes[pair[0]], &self.nodes[pair[1]])
        else {
            return Err("calls something that is not a known name".into());
        };
        let made = match name {
            Name::OrderedDict if arguments.is_empty() => Node::Dict(Vec::new()),
            Name::RebuildTensor => Node::Tensor(self.tensor(arguments)?),
            Name::RebuildParameter => match arguments.first().map(|&a| &self.nodes[a]) {
                Some(Node::Tensor(tensor)) => Node::Tensor(tensor.clone()),
                _ => return Err("a parameter without a tensor".into()),
            },
            Name::OrderedDict => return Err("an ordered dict made from something".into()),
            Name::Storage(_) => return Err("calls a storage".into()),
        };
        self.push(made);
        Ok(())
    }

    /// `(storage, offset, size, stride, …)`.
    fn tensor(&self, arguments: &[Id]) -> Result<Tensor, Refusal> {
        let wrong = || Refusal::from("a tensor that is not described as torch does");
        let [storage, offset, size, stride, ..] = arguments[..] else {
            return Err(wrong());
        };
        let Node::Storage(storage) = &self.nodes[storage] else {
            return Err(wrong());
        };
        let offset = self.natural(offset).ok_or_else(wrong)?;
        let shape = self.naturals(size).ok_or_else(wrong)?;
        let strides = self.naturals(stride).ok_or_else(wrong)?;
        if shape.len() != strides.len() || shape.len() > 8 {
            return Err(wrong());
        }
        Ok(Tensor {
            storage: storage.clone(),
            offset,
            shape,
            strides,
        })
    }

    fn natural(&self, id: Id) -> Option<usize> {
        match self.nodes[id] {
            Node::Int(n) => usize::try_from(n).ok(),
            _ => None,
        }
    }

    fn naturals(&self, id: Id) -> Option<Vec<usize>> {
        match &self.nodes[id] {
            Node::Tuple(items) => items.iter().map(|&i| self.natural(i)).collect(),
            _ => None,
        }
    }

    /// The tensors of the top-level dict, or of its `state_dict` where there is one. Entries that
    /// are not tensors (step counters, settings) are passed over.
    fn tensors(&self, top: Id) -> Result<Vec<(String, Tensor)>, Refusal> {
        let Node::Dict(pairs) = &self.nodes[top] else {
            return Err("is not a dict of tensors".into());
        };
        let inner =
            pairs.iter().find_map(
                |&(key, value)| match (&self.nodes[key], &self.nodes[value]) {
                    (Node::Text(key), Node::Dict(pairs)) if key == "state_dict" => Some(pairs),
                    _ => None,
                },
            );
        let mut found = Vec::new();
        for &(key, value) in inner.unwrap_or(pairs) {
            if let (Node::Text(key), Node::Tensor(tensor)) = (&self.nodes[key], &self.nodes[value])
            {
                found.push((key.clone(), tensor.clone()));
            }
        }
        if found.is_empty() {
            return Err("holds no tensors".into());
        }
        Ok(found)
    }
}

/// A name from a hostile file, short and printable.
fn shown(name: &str) -> String {
    name.chars()
        .take(80)
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pickle_that_calls_out_is_refused_by_name() {
        // What `pickle.dumps(os.system)`-style attacks look like.
        let program = b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.";
        let refusal = state_dict(program).unwrap_err();
        assert!(refusal.contains("posix.system"), "{refusal}");
        assert!(refusal.contains("nothing was executed"));
    }

    #[test]
    fn opcodes_beyond_a_state_dict_are_refused() {
        // INST, OBJ, NEWOBJ, BUILD's cousins and old text opcodes.
        for op in [b'i', b'o', 0x81, b'I', b'S', b'P', 0x82] {
            assert!(state_dict(&[0x80, 2, op, 0, 0]).is_err(), "{op:#x}");
        }
    }

    #[test]
    fn deep_nesting_costs_memory_in_proportion_and_no_stack() {
        let mut program = vec![0x80, 2, b'N'];
        program.extend(std::iter::repeat_n(0x85, 200_000)); // TUPLE1, again and again
        program.push(b'.');
        assert_eq!(
            state_dict(&program).unwrap_err(),
            "is not a dict of tensors"
        );
    }

    #[test]
    fn a_far_memo_slot_allocates_nothing() {
        let program = b"\x80\x02Nr\xff\xff\xff\x7f.";
        assert!(state_dict(program).unwrap_err().contains("out of order"));
    }

    #[test]
    fn an_empty_program_and_an_empty_stack_are_refused() {
        assert!(state_dict(b"").is_err());
        assert!(state_dict(b"\x80\x02.").is_err());
        assert!(state_dict(b"\x80\x02u").is_err());
    }
}
