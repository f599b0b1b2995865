//! The grammar: operators by precedence, functions, CASE. Operations are written as they are parsed.

use super::function::{ARGUMENTS_MAX, Arguments, Function as F, find};
use super::operation::{Expression, Operation};
use super::token::{Token, Tokens};
use crate::names::Names;
use crate::value::{Value, read_double};

/// Deepest nesting of parentheses, functions and prefix operators.
const DEPTH_MAX: u32 = 200;

// Precedence, from OR to the unary operators.
//
// EVIDENCE: PostgreSQL documentation, pgbench, "Built-In Operators": "in increasing precedence order"
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const UNARY: u8 = 9;

/// An expression and the offset of the end of its line.
pub(crate) struct Parsed {
    pub(crate) expression: Expression,
    pub(crate) end: usize,
}

/// Where and why an expression cannot be parsed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Parses the expression that starts at an offset of a script and ends with its line.
pub(crate) fn parse(text: &str, at: usize, names: &mut Names) -> Result<Parsed, Fault> {
    let mut tokens = Tokens::new(text, at);
    let next = tokens.next();
    let mut parser = Parser { tokens, next, operations: Vec::new(), names, depth: 0 };
    parser.expression(0)?;
    if parser.token() != Token::End {
        return Err(parser.unexpected());
    }
    Ok(Parsed { end: parser.next.0, expression: Expression { operations: parser.operations } })
}

struct Parser<'a, 'n> {
    tokens: Tokens<'a>,
    next: (usize, Token<'a>),
    operations: Vec<Operation>,
    names: &'n mut Names,
    depth: u32,
}

impl<'a> Parser<'a, '_> {
    fn token(&self) -> Token<'a> {
        self.next.1
    }

    fn advance(&mut self) {
        self.next = self.tokens.next();
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { offset: self.next.0, message: message.into(), hint: None }
    }

    fn unexpected(&self) -> Fault {
        match self.token() {
            Token::Unexpected(character) => {
                let mut fault = self.fault(format!("unexpected character ({character})"));
                if character == ';' {
                    fault.hint =
                        Some("a backslash command ends with its line, without a semicolon".to_owned());
                }
                fault
            }
            _ => self.fault("syntax error"),
        }
    }

    fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    fn call(&mut self, function: F, count: u8) {
        self.push(Operation::Call(function, count));
    }

    fn take_symbol(&mut self, symbol: &'static str) -> bool {
        let is_there = self.token() == Token::Symbol(symbol);
        if is_there {
            self.advance();
        }
        is_there
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(word);
        if is_there {
            self.advance();
        }
        is_there
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn require(&self, is_there: bool) -> Result<(), Fault> {
        if is_there { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Parses an operand and all operators that bind closer than `level`.
    fn expression(&mut self, level: u8) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let mut fault = self.fault(format!("expression is nested deeper than {DEPTH_MAX} levels"));
            fault.hint = Some("compute parts of it with a \\set of their own".to_owned());
            return Err(fault);
        }
        let start = self.operations.len();
        self.operand()?;
        while self.operator(level, start)? {}
        self.depth -= 1;
        Ok(())
    }

    fn operand(&mut self) -> Result<(), Fault> {
        match self.token() {
            Token::Symbol("(") => {
                self.advance();
                self.expression(0)?;
                let is_closed = self.take_symbol(")");
                self.require(is_closed)
            }
            Token::Symbol("+") => {
                self.advance();
                self.expression(UNARY)
            }
            Token::Symbol("-") => {
                self.advance();
                self.negative()
            }
            Token::Symbol("~") => {
                self.advance();
                self.push(Operation::Push(Value::Integer(-1)));
                // It binds like the other operators on bits: ~1 + 2 is ~(1 + 2).
                self.expression(BITS)?;
                self.call(F::BitXor, 2);
                Ok(())
            }
            Token::Integer(digits) => {
                // 2^63 is a number behind a minus sign only.
                if digits == MINIMUM {
                    return Err(self.unexpected());
                }
                let value = digits.parse().map_err(|_| self.overflow("bigint", digits))?;
                self.constant(Value::Integer(value))
            }
            Token::Double(digits) => {
                let value = read_double(digits).ok_or_else(|| self.overflow("double", digits))?;
                self.constant(Value::Double(value))
            }
            Token::Variable(name) => {
                let slot = self.names.intern(name);
                self.advance();
                self.push(Operation::Load(slot));
                Ok(())
            }
            Token::Word(word) => self.word(word),
            _ => Err(self.unexpected()),
        }
    }

    fn overflow(&self, type_name: &str, digits: &str) -> Fault {
        let shown: String = digits.chars().take(40).collect();
        self.fault(format!("{type_name} constant overflow ({shown})"))
    }

    fn constant(&mut self, value: Value) -> Result<(), Fault> {
        self.advance();
        self.push(Operation::Push(value));
        Ok(())
    }

    /// What follows a minus sign: -x is 0 - x.
    fn negative(&mut self) -> Result<(), Fault> {
        if self.token() == Token::Integer(MINIMUM) {
            return self.constant(Value::Integer(i64::MIN));
        }
        self.push(Operation::Push(Value::Integer(0)));
        self.expression(UNARY)?;
        self.call(F::Subtract, 2);
        Ok(())
    }

    fn word(&mut self, word: &'a str) -> Result<(), Fault> {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        if is("not") {
            self.advance();
            self.expression(NOT)?;
            self.call(F::Not, 1);
            Ok(())
        } else if is("null") {
            self.constant(Value::Null)
        } else if is("true") || is("false") {
            self.constant(Value::Boolean(is("true")))
        } else if is("case") {
            self.advance();
            self.case()
        } else if KEYWORDS.into_iter().any(is) {
            Err(self.unexpected())
        } else {
            self.function(word)
        }
    }

    fn function(&mut self, word: &str) -> Result<(), Fault> {
        let Some((name, function, arguments)) = find(word) else {
            let mut fault = self.fault(format!("unexpected function name ({word})"));
            fault.hint = Some(
                "functions are listed in docs/lab/script.md; a variable has a colon before its name"
                    .to_owned(),
            );
            return Err(fault);
        };
        self.advance();
        let is_opened = self.take_symbol("(");
        self.require(is_opened)?;
        let mut count = 0;
        if self.token() != Token::Symbol(")") {
            // pgbench's grammar allows nothing before the first comma: least(, 1).
            if self.token() != Token::Symbol(",") {
                self.expression(0)?;
                count += 1;
            }
            while self.take_symbol(",") {
                self.expression(0)?;
                count += 1;
            }
        }
        if self.token() != Token::Symbol(")") {
            return Err(self.unexpected());
        }
        if let Some(message) = arguments.fault(count) {
            return Err(self.fault(format!("{message} ({name})")));
        }
        if count > ARGUMENTS_MAX {
            return Err(self.fault(format!("too many function arguments, maximum is {ARGUMENTS_MAX}")));
        }
        self.advance();
        if let Arguments::WithSeed(_, most) = arguments
            && count < most
        {
            let seed = self.names.intern("default_seed");
            self.push(Operation::Load(seed));
            count += 1;
        }
        self.call(function, count as u8);
        Ok(())
    }

    /// What follows CASE.
    fn case(&mut self) -> Result<(), Fault> {
        let mut ends = Vec::new();
        self.require(self.is_word("when"))?;
        while self.take_word("when") {
            self.expression(0)?;
            let has_result = self.take_word("then");
            self.require(has_result)?;
            let condition = self.hole();
            self.expression(0)?;
            ends.push(self.hole());
            self.fill(condition, Operation::Unless);
        }
        if self.take_word("else") {
            self.expression(0)?;
        } else {
            self.push(Operation::Push(Value::Null));
        }
        for end in ends {
            self.fill(end, Operation::Jump);
        }
        let is_ended = self.take_word("end");
        self.require(is_ended)
    }

    /// Leaves room for a jump to a place that is not known yet.
    fn hole(&mut self) -> usize {
        self.push(Operation::Jump(0));
        self.operations.len() - 1
    }

    /// Fills the room with a jump to what is parsed next.
    fn fill(&mut self, hole: usize, jump: fn(u32) -> Operation) {
        self.operations[hole] = jump((self.operations.len() - hole - 1) as u32);
    }

    /// Parses an operator that binds closer than `level`, with its right side; `start` is where its left side begins.
    fn operator(&mut self, level: u8, start: usize) -> Result<bool, Fault> {
        if let Token::Word(word) = self.token() {
            return self.word_operator(word, level);
        }
        let Token::Symbol(symbol) = self.token() else { return Ok(false) };
        let (own, function) = match symbol {
            "=" => (COMPARISON, F::Equal),
            "<>" | "!=" => (COMPARISON, F::NotEqual),
            "<" | ">" => (COMPARISON, F::Less),
            "<=" | ">=" => (COMPARISON, F::LessOrEqual),
            "&" => (BITS, F::BitAnd),
            "|" => (BITS, F::BitOr),
            "#" => (BITS, F::BitXor),
            "<<" => (BITS, F::ShiftLeft),
            ">>" => (BITS, F::ShiftRight),
            "+" => (SUM, F::Add),
            "-" => (SUM, F::Subtract),
            "*" => (PRODUCT, F::Multiply),
            "/" => (PRODUCT, F::Divide),
            "%" => (PRODUCT, F::Modulo),
            _ => return Ok(false),
        };
        if own <= level {
            return Ok(false);
        }
        self.advance();
        let middle = self.operations.len();
        self.expression(own)?;
        if matches!(symbol, ">" | ">=") {
            // a > b is b < a, and b is evaluated first: random values are drawn in this order.
            self.operations[start..].rotate_left(middle - start);
        }
        self.call(function, 2);
        let next_is_comparison =
            matches!(self.token(), Token::Symbol("=" | "<>" | "!=" | "<" | ">" | "<=" | ">="));
        if own == COMPARISON && next_is_comparison {
            return Err(self.unexpected());
        }
        Ok(true)
    }

    fn word_operator(&mut self, word: &str, level: u8) -> Result<bool, Fault> {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        if is("and") && AND > level {
            self.advance();
            self.logical(AND, Operation::AndRight)?;
        } else if is("or") && OR > level {
            self.advance();
            self.logical(OR, Operation::OrRight)?;
        } else if is("isnull") && IS > level {
            self.advance();
            self.is_constant(Value::Null, false);
        } else if is("notnull") && IS > level {
            self.advance();
            self.is_constant(Value::Null, true);
        } else if is("is") && IS > level {
            self.advance();
            let is_negated = self.take_word("not");
            let value =
                [("null", Value::Null), ("true", Value::Boolean(true)), ("false", Value::Boolean(false))]
                    .into_iter()
                    .find(|(keyword, _)| self.is_word(keyword));
            let Some((_, value)) = value else { return Err(self.unexpected()) };
            self.advance();
            self.is_constant(value, is_negated);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn logical(&mut self, level: u8, jump: fn(u32) -> Operation) -> Result<(), Fault> {
        let hole = self.hole();
        self.expression(level)?;
        self.push(Operation::Boolean);
        self.fill(hole, jump);
        Ok(())
    }

    fn is_constant(&mut self, value: Value, is_negated: bool) {
        self.push(Operation::Push(value));
        self.call(F::Is, 2);
        if is_negated {
            self.call(F::Not, 1);
        }
    }
}

/// The digits of 2^63.
const MINIMUM: &str = "9223372036854775808";

/// Words that are no function; those that begin an operand are handled before.
const KEYWORDS: [&str; 9] = ["and", "or", "is", "isnull", "notnull", "when", "then", "else", "end"];
