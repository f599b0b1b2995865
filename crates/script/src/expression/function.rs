//! Functions and operators: names, numbers of arguments, results.

use crate::hash;
use crate::random::Generator;
use crate::value::{Value, fixed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Not,
    Is,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

use Function as F;

/// Most arguments of a function.
///
/// EVIDENCE: pgbench's message "too many function arguments, maximum is 16"
pub(super) const ARGUMENTS_MAX: usize = 16;

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    Exactly(usize),
    AtLeastOne,
    /// The last one is `default_seed` where it is left out: fewest and most.
    WithSeed(usize, usize),
}

use Arguments::{AtLeastOne, Exactly, WithSeed};

impl Arguments {
    /// What is wrong with this many arguments, if anything.
    pub(super) fn fault(self, count: usize) -> Option<&'static str> {
        match self {
            AtLeastOne => (count == 0).then_some("at least one argument expected"),
            Exactly(expected) => (count != expected).then_some("unexpected number of arguments"),
            WithSeed(fewest, most) => {
                (!(fewest..=most).contains(&count)).then_some("unexpected number of arguments")
            }
        }
    }
}

/// EVIDENCE: PostgreSQL documentation, pgbench, "pgbench Functions"
pub(super) const FUNCTIONS: [(&str, Function, Arguments); 21] = [
    ("abs", F::Abs, Exactly(1)),
    ("debug", F::Debug, Exactly(1)),
    ("double", F::Double, Exactly(1)),
    ("exp", F::Exp, Exactly(1)),
    ("greatest", F::Greatest, AtLeastOne),
    ("hash", F::HashMurmur2, WithSeed(1, 2)),
    ("hash_fnv1a", F::HashFnv1a, WithSeed(1, 2)),
    ("hash_murmur2", F::HashMurmur2, WithSeed(1, 2)),
    ("int", F::Int, Exactly(1)),
    ("least", F::Least, AtLeastOne),
    ("ln", F::Ln, Exactly(1)),
    ("mod", F::Modulo, Exactly(2)),
    ("permute", F::Permute, WithSeed(2, 3)),
    ("pi", F::Pi, Exactly(0)),
    ("pow", F::Power, Exactly(2)),
    ("power", F::Power, Exactly(2)),
    ("random", F::Random, Exactly(2)),
    ("random_exponential", F::RandomExponential, Exactly(3)),
    ("random_gaussian", F::RandomGaussian, Exactly(3)),
    ("random_zipfian", F::RandomZipfian, Exactly(3)),
    ("sqrt", F::Sqrt, Exactly(1)),
];

/// Finds a function by its name, in capital or small letters.
pub(super) fn find(name: &str) -> Option<(&'static str, Function, Arguments)> {
    FUNCTIONS.into_iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}

impl Function {
    /// Computes the result. `arguments` has as many as the parser has counted.
    pub(super) fn call(self, arguments: &[Value], generator: &mut Generator) -> Result<Value, String> {
        if self == F::Debug {
            return Ok(first(arguments));
        }
        if self == F::Is {
            let [left, right] = pair(arguments);
            // A NaN is no constant of IS.
            return Ok(Value::Boolean(left == right));
        }
        if arguments.iter().any(|argument| matches!(argument, Value::Null)) {
            return Ok(Value::Null);
        }
        match self {
            F::Add
            | F::Subtract
            | F::Multiply
            | F::Divide
            | F::Equal
            | F::NotEqual
            | F::Less
            | F::LessOrEqual => arithmetic(self, pair(arguments)),
            F::Modulo => integers(self, pair(arguments)),
            F::BitAnd | F::BitOr | F::BitXor | F::ShiftLeft | F::ShiftRight => bits(self, pair(arguments)),
            F::Not => Ok(Value::Boolean(!first(arguments).boolean()?)),
            F::Pi => Ok(Value::Double(std::f64::consts::PI)),
            F::Abs => match first(arguments) {
                Value::Integer(value) => Ok(Value::Integer(value.wrapping_abs())),
                other => Ok(Value::Double(other.double()?.abs())),
            },
            F::Double => first(arguments).double().map(Value::Double),
            F::Sqrt => Ok(Value::Double(first(arguments).double()?.sqrt())),
            F::Ln => Ok(Value::Double(first(arguments).double()?.ln())),
            F::Exp => Ok(Value::Double(first(arguments).double()?.exp())),
            F::Int => first(arguments).integer().map(Value::Integer),
            F::Power => {
                let [left, right] = pair(arguments);
                Ok(Value::Double(left.double()?.powf(right.double()?)))
            }
            F::Least | F::Greatest => extreme(self == F::Least, arguments),
            F::HashFnv1a | F::HashMurmur2 => {
                let [value, seed] = pair(arguments);
                let hash = if self == F::HashFnv1a { hash::fnv1a } else { hash::murmur2 };
                Ok(Value::Integer(hash(value.integer()?, seed.integer()?)))
            }
            F::Permute => permute(arguments),
            _ => random(self, arguments, generator),
        }
    }
}

fn first(arguments: &[Value]) -> Value {
    arguments.first().copied().unwrap_or(Value::Null)
}

fn pair(arguments: &[Value]) -> [Value; 2] {
    [first(arguments), arguments.get(1).copied().unwrap_or(Value::Null)]
}

/// Doubles where one side is a double, else bigints.
fn arithmetic(function: Function, sides: [Value; 2]) -> Result<Value, String> {
    if !sides.iter().any(|side| matches!(side, Value::Double(_))) {
        return integers(function, sides);
    }
    let (left, right) = (sides[0].double()?, sides[1].double()?);
    Ok(match function {
        F::Add => Value::Double(left + right),
        F::Subtract => Value::Double(left - right),
        F::Multiply => Value::Double(left * right),
        F::Divide => Value::Double(left / right),
        F::Equal => Value::Boolean(left == right),
        F::NotEqual => Value::Boolean(left != right),
        F::Less => Value::Boolean(left < right),
        _ => Value::Boolean(left <= right),
    })
}

fn integers(function: Function, sides: [Value; 2]) -> Result<Value, String> {
    let (left, right) = (sides[0].integer()?, sides[1].integer()?);
    let checked = |result: Option<i64>, name: &str| {
        result.map(Value::Integer).ok_or_else(|| format!("bigint {name} out of range"))
    };
    match function {
        F::Add => checked(left.checked_add(right), "add"),
        F::Subtract => checked(left.checked_sub(right), "sub"),
        F::Multiply => checked(left.checked_mul(right), "mul"),
        F::Divide | F::Modulo if right == 0 => Err("division by zero".to_owned()),
        F::Divide => checked(left.checked_div(right), "div"),
        F::Modulo => Ok(Value::Integer(left.wrapping_rem(right))),
        F::Equal => Ok(Value::Boolean(left == right)),
        F::NotEqual => Ok(Value::Boolean(left != right)),
        F::Less => Ok(Value::Boolean(left < right)),
        _ => Ok(Value::Boolean(left <= right)),
    }
}

fn bits(function: Function, sides: [Value; 2]) -> Result<Value, String> {
    let (left, right) = (sides[0].integer()?, sides[1].integer()?);
    // The 6 lowest bits count, as the CPUs do it that pgbench leaves it to.
    let distance = (right & 63) as u32;
    Ok(Value::Integer(match function {
        F::BitAnd => left & right,
        F::BitOr => left | right,
        F::BitXor => left ^ right,
        F::ShiftLeft => left << distance,
        _ => left >> distance,
    }))
}

fn extreme(is_least: bool, arguments: &[Value]) -> Result<Value, String> {
    let mut rest = arguments.iter();
    if arguments.iter().any(|argument| matches!(argument, Value::Double(_))) {
        let mut best = rest.next().copied().unwrap_or(Value::Null).double()?;
        for argument in rest {
            let value = argument.double()?;
            // Where one side is a NaN the later one is kept.
            let keeps = if is_least { best < value } else { best > value };
            best = if keeps { best } else { value };
        }
        return Ok(Value::Double(best));
    }
    let mut best = rest.next().copied().unwrap_or(Value::Null).integer()?;
    for argument in rest {
        let value = argument.integer()?;
        best = if is_least { best.min(value) } else { best.max(value) };
    }
    Ok(Value::Integer(best))
}

fn permute(arguments: &[Value]) -> Result<Value, String> {
    let [value, size] = pair(arguments);
    let seed = arguments.get(2).copied().unwrap_or(Value::Null);
    let (value, size, seed) = (value.integer()?, size.integer()?, seed.integer()?);
    if size <= 0 {
        return Err("permute size parameter must be greater than zero".to_owned());
    }
    Ok(Value::Integer(hash::permute(value, size, seed)))
}

/// EVIDENCE: PostgreSQL documentation, pgbench, "Random Functions"
const GAUSSIAN_MIN: f64 = 2.0;
const ZIPFIAN_MIN: f64 = 1.001;
const ZIPFIAN_MAX: f64 = 1000.0;

fn random(function: Function, arguments: &[Value], generator: &mut Generator) -> Result<Value, String> {
    let [low, high] = pair(arguments);
    let (low, high) = (low.integer()?, high.integer()?);
    if low > high {
        return Err("empty range given to random".to_owned());
    }
    if high.checked_sub(low).and_then(|width| width.checked_add(1)).is_none() {
        return Err("random range is too large".to_owned());
    }
    if function == F::Random {
        return Ok(Value::Integer(generator.uniform(low, high)));
    }
    let parameter = arguments.get(2).copied().unwrap_or(Value::Null).double()?;
    let shown = || fixed(parameter);
    let value = match function {
        F::RandomGaussian if !(GAUSSIAN_MIN..).contains(&parameter) => {
            return Err(format!("gaussian parameter must be at least {GAUSSIAN_MIN:.6} (not {})", shown()));
        }
        F::RandomGaussian => generator.gaussian(low, high, parameter),
        F::RandomZipfian if !(ZIPFIAN_MIN..=ZIPFIAN_MAX).contains(&parameter) => {
            let range = format!("[{ZIPFIAN_MIN:.3}, {ZIPFIAN_MAX:.0}]");
            return Err(format!("zipfian parameter must be in range {range} (not {})", shown()));
        }
        F::RandomZipfian => generator.zipfian(low, high, parameter),
        _ if parameter <= 0.0 || parameter.is_nan() => {
            return Err(format!("exponential parameter must be greater than zero (not {})", shown()));
        }
        _ => generator.exponential(low, high, parameter),
    };
    Ok(Value::Integer(value))
}
